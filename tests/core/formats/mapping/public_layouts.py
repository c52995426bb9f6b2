"""Small files in the layouts of public data sets, with our own contents: name of the mapping -> files."""

import json
from pathlib import Path
from typing import Any


def turns(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def mt_bench_row(judge: str, winner: str, turn: int = 1) -> dict[str, Any]:
    return {
        "question_id": 81,
        "model_a": "alpha",
        "model_b": "beta",
        "winner": winner,
        "judge": judge,
        "conversation_a": turns("Name a river.", "The Rhine.", "And a lake?", "Lake Constance."),
        "conversation_b": turns("Name a river.", "A river is water.", "And a lake?", "No."),
        "turn": turn,
    }


def summeval_row(model: str) -> dict[str, Any]:
    rating = {"coherence": 2, "consistency": 5, "fluency": 4, "relevance": 3}
    return {
        "id": "doc-1",
        "model_id": model,
        "decoded": f"A summary by {model}.",
        "expert_annotations": [rating, rating | {"coherence": 1}, rating],
        "turker_annotations": [rating | {"relevance": 5}] * 5,
        "references": ["One reference.", "Another reference."],
        "text": "An article about rain.",
    }


def rated(rating: str) -> dict[str, dict[str, str]]:
    aspects = ("helpfulness", "honesty", "instruction_following", "truthfulness")
    return {aspect: {"Rating": rating, "Rationale": f"{aspect} is {rating}"} for aspect in aspects}


MQM_HEAD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
JUDGEBENCH_PAIR = {
    "pair_id": "p1",
    "original_id": "o1",
    "source": "logic",
    "question": "Is 7 prime?",
    "response_model": "alpha",
    "response_A": "Yes.",
    "response_B": "No.",
    "label": "A>B",
}
ANSWERS = lines({"question_id": 1, "text": "Add 2 and 3.", "answer": "5", "model_id": "alpha"})

FILES: dict[str, dict[str, str]] = {
    "mt_bench": {
        "data.jsonl": lines(
            mt_bench_row("author_2", "model_a"),
            mt_bench_row("expert_1", "tie"),
            mt_bench_row("author_2", "model_b"),
            mt_bench_row("expert_1", "model_b", turn=2),
            mt_bench_row("gpt4_pair", "model_b"),
        )
    },
    "chatbot_arena": {
        "data.csv": "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
        '7,alpha,beta,"[""Say hello."", ""Again.""]","[""Hello!"", ""Hello!""]","[""Hi."", ""Hi.""]",1,0,0\n'
        '8,alpha,beta,"[""Say bye.""]","[""Bye!""]","[""Bye.""]",0,0,1\n'
    },
    "alpaca_eval": {
        "annotations.json": json.dumps(
            [
                {
                    "instruction": "Say hello.",
                    "output_1": "Hello!",
                    "generator_1": "alpha",
                    "dataset": "own",
                    "output_2": f"Hi {preference}.",
                    "generator_2": "beta",
                    "annotator": "weighted_gpt4",
                    "preference": preference,
                    "price_per_example": 0.01,
                    "raw_completion": None,
                }
                for preference in (1.0000021, 1.5, 2.0, None)
            ]
        )
    },
    "summeval": {"data.jsonl": lines(summeval_row("M1"), summeval_row("M2"))},
    "helpsteer2": {
        "train.jsonl": lines(
            {
                "prompt": "Say hello.",
                "response": "Hello!",
                "helpfulness": 4,
                "correctness": 4,
                "coherence": 3,
                "complexity": 0,
                "verbosity": 1,
            }
        )
    },
    "helpsteer3": {
        "preference.jsonl": lines(
            {
                "domain": "general",
                "language": "english",
                "context": turns("Name a river.", "The Rhine.", "Another one?"),
                "response1": "The Elbe.",
                "response2": "I do not know.",
                "overall_preference": -2,
                "individual_preference": [
                    {"score": -3, "reasoning": "It answers.", "feedback1": "Good.", "feedback2": "Bad."},
                    {"score": 0, "reasoning": "Both are short.", "feedback1": "Short.", "feedback2": "Short."},
                ],
            }
        )
    },
    "ultrafeedback": {
        "data.jsonl": lines(
            {
                "source": "own",
                "instruction": "Say hello.",
                "models": ["alpha", "beta"],
                "completions": [
                    {"model": "alpha", "response": "Hello!", "annotations": rated("5"), "overall_score": 8.5},
                    {"model": "beta", "response": "Hi.", "annotations": rated("N/A"), "overall_score": 4.0},
                    {"model": "gamma", "response": "Yo.", "annotations": rated("2"), "overall_score": 3.0},
                ],
                "correct_answers": ["None"],
            }
        )
    },
    "reward_bench": {
        "data.jsonl": lines(
            *(
                {
                    "id": number,
                    "prompt": f"Say {number}.",
                    "chosen": f"{number}!",
                    "chosen_model": "alpha",
                    "rejected": "No.",
                    "rejected_model": "beta",
                    "subset": "chat-easy",
                }
                for number in range(8)
            )
        )
    },
    "llmbar": {
        "dataset.json": json.dumps([{"input": "Say hello.", "output_1": "No.", "output_2": "Hello!", "label": 2}])
    },
    "reasoning": {
        "data.jsonl": lines(
            {"id": 7, "dataset": "AQuA", "question": "1 + 1 = ? (A) 1 (B) 2", "answer": "B"},
            {"id": 7, "dataset": "BBH-DU", "question": "Which day follows Sunday? (A) Monday", "answer": "A"},
        )
    },
    "judgebench": {"data.jsonl": lines(JUDGEBENCH_PAIR, JUDGEBENCH_PAIR | {"pair_id": "p2", "label": "B>A"})},
    "judgebench_judges": {
        "data.jsonl": lines(
            *(
                JUDGEBENCH_PAIR
                | {
                    "pair_id": f"p{number}",
                    "judge_name": "arena_hard",
                    "judgments": [
                        {"judge_model": "alpha", "judgment": {"raw": "..."}, "decision": first},
                        {"judge_model": "alpha", "judgment": {"raw": "..."}, "decision": second},
                    ],
                }
                for number, (first, second) in enumerate([("A>B", "B>A"), ("A>B", "A>B")], 1)
            )
        )
    },
    "feedback_bench": {
        "data.json": json.dumps(
            [
                {
                    "instruction": "###Task ...",
                    "output": f"Feedback: it is clear. So the overall score is {score}. [RESULT] {score}",
                    "orig_instruction": "Explain rain.",
                    "orig_response": "Water falls.",
                    "orig_feedback": "It is clear.",
                    "orig_score": str(score),
                    "orig_criteria": "Is the response clear?",
                    "orig_reference_answer": "Rain is water that falls from clouds.",
                    **{f"orig_score{n}_description": f"Level {n}." for n in range(1, 6)},
                }
                for score in (3, 5)
            ]
        )
    },
    "wmt_mqm": {
        "mqm.tsv": MQM_HEAD
        + 'alpha\tdoc\td.1\t1\trater1\tHe said "no.\tEr sagte <v>"nein</v>.\tAccuracy/Omission\tMajor\n'
        + 'alpha\tdoc\td.1\t1\trater1\tHe said "no.\tEr <v>sagte</v> "nein.\tFluency/Grammar\tMinor\n'
        + 'alpha\tdoc\td.1\t1\trater2\tHe said "no.\tEr sagte "nein.\tNo-error\tNo-error\n'
        + 'beta\tdoc\td.1\t1\trater1\tHe said "no.\tNein.\tAccuracy/Omission\tCritical\n'
    },
    "hanna": {
        "hanna.csv": "Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,Complexity,"
        "Worker ID,Assignment ID,Work time in seconds,Name\n"
        "0,A lost key.,A human story.,A story.,alpha,1,2,3,4,5,1,W1,A1,120.0,n\n"
        "0,A lost key.,A human story.,A story.,alpha,2,2,2,2,2,2,W2,A2,60.5,n\n"
    },
    "shp": {
        "train.jsonl": lines(
            *(
                {
                    "post_id": "p",
                    "domain": "askbaking_train",
                    "history": "Why did my bread not rise?",
                    "c_root_id_A": f"a{label}",
                    "c_root_id_B": "b",
                    "score_A": 10,
                    "score_B": 4,
                    "human_ref_A": "Old yeast.",
                    "human_ref_B": "Bad luck.",
                    "labels": label,
                }
                for label in (1, 0)
            )
        )
    },
    "oasst": {
        "trees.jsonl": lines(
            {
                "message_tree_id": "t1",
                "prompt": {
                    "message_id": "t1",
                    "text": "Say hello.",
                    "role": "prompter",
                    "lang": "en",
                    "replies": [
                        {
                            "message_id": f"m{rank}",
                            "text": "Hello!",
                            "role": "assistant",
                            "lang": "en",
                            "rank": rank,
                            "labels": {
                                "quality": {"value": 0.75, "count": 3},
                                "helpfulness": {"value": 1.0, "count": 3},
                                "toxicity": {"value": 0.0, "count": 3},
                            },
                            "replies": [],
                        }
                        for rank in (0, 1)
                    ],
                },
            }
        )
    },
    "beavertails": {
        "data.jsonl": lines(
            {
                "prompt": "Is rain wet?",
                "response": "Yes.",
                "category": {"animal_abuse": False, "violence,aiding_and_abetting,incitement": True},
                "is_safe": False,
            }
        )
    },
    "alignbench": {
        "data.jsonl": lines(
            {
                "question_id": 1,
                "category": "历史",
                "subcategory": "世界史",
                "question": "谁?",
                "reference": "他。",
                "evidences": [],
            }
        ),
        "answers.jsonl": lines(
            {"question_id": 1, "model_id": "alpha", "choices": [{"index": 0, "turns": ["她。"]}]},
        ),
    },
    "flask": {
        "reviews.jsonl": lines(
            {
                "review_id": "r",
                "question_id": 1,
                "content": "...",
                "score": {"Logical Correctness": 5, "Harmlessness": "N/A"},
            }
        ),
        "answers.jsonl": ANSWERS,
    },
    "summarize_from_feedback": {
        "batch0.jsonl": lines(
            {
                "info": {"id": "t3_1", "post": "I lost my key.", "title": "Key", "subreddit": "advice"},
                "split": "train",
                "summaries": [
                    {"text": "A key was lost.", "policy": "sup1", "note": "ok"},
                    {"text": "A dog.", "policy": "ref", "note": ""},
                ],
                "choice": 0,
                "worker": "w1",
                "batch": "batch0",
                "extra": {"confidence": 7},
            }
        )
    },
    "webgpt": {
        "comparisons.jsonl": lines(
            *(
                {
                    "question": {"dataset": "own", "id": f"q{score}", "full_text": "Why is the sky blue?"},
                    "quotes_0": {"title": ["Sky"], "extract": ["Light."]},
                    "answer_0": "Light scatters [1].",
                    "score_0": score,
                    "quotes_1": {"title": [], "extract": []},
                    "answer_1": "It is.",
                    "score_1": -score,
                }
                for score in (1.0, 0.0, -0.5)
            )
        )
    },
    "nectar": {
        "train.jsonl": lines(
            {
                "prompt": "Human: Say hello. Assistant: ",
                "answers": [
                    {"answer": f"Hello {rank}.", "model": f"model-{rank}", "rank": rank} for rank in (2.0, 1.0, 3.0)
                ],
                "turns": 1,
                "num_responses": 3,
                "source": ["own"],
                "good_natured": True,
            }
        )
    },
    "faireval": {
        "question.jsonl": lines(*({"question_id": n, "text": f"What is {n}?", "category": "generic"} for n in (1, 2))),
        "answer_gpt35.jsonl": lines(*({"question_id": n, "text": "A number."} for n in (1, 2))),
        "answer_vicuna.jsonl": lines(*({"question_id": n, "text": "I like it."} for n in (1, 2))),
        "review_human.jsonl": lines({"question_id": 2, "label": "VICUNA13B"}),
    },
    "openmeva": {
        "mans.json": json.dumps(
            {
                str(n): {
                    "prompt": f"Once {n} ...",
                    "gold_story": "the end.",
                    "gen": {system: {"text": "a story.", "score": [4, 3, n]} for system in ("gpt", "plan")},
                }
                for n in (1, 2)
            }
        )
    },
    "newsroom": {
        "human-eval.csv": "ArticleID,System,ArticleText,SystemSummary,ArticleTitle,CoherenceRating,FluencyRating,"
        "InformativenessRating,RelevanceRating\n"
        + "".join(f"9,{system},Rain fell.,Rain.,Rain,{n},4,3,2\n" for n in (1, 5) for system in ("abs", "ext"))
    },
    "qags": {
        "mturk.jsonl": lines(
            {
                "article": "Rain fell.",
                "summary_sentences": [
                    {
                        "sentence": sentence,
                        "responses": [{"worker_id": n, "response": answer} for n, answer in enumerate(answers)],
                    }
                    for sentence, answers in (("It rained.", ("yes", "yes")), ("It snowed.", ("no", "yes")))
                ],
            }
        )
    },
    "hh_rlhf": {
        "test.jsonl": lines(
            *(
                {
                    "chosen": f"\n\nHuman: Hi {number}.\n\nAssistant: Hello.\n\nHuman: Joke?\n\nAssistant: Knock.",
                    "rejected": f"\n\nHuman: Hi {number}.\n\nAssistant: Hello.\n\nHuman: Joke?\n\nAssistant: No.",
                }
                for number in range(8)
            )
        )
    },
}


def write_files(name: str, folder: Path) -> Path:
    """Write the files of a layout; returns the path of the table, which is the first one."""
    for file, content in FILES[name].items():
        (folder / file).write_text(content, encoding="utf-8")
    return folder / next(iter(FILES[name]))
