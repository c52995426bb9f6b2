"""Prompts of released code: small files of the same forms, read, and sent to a real server."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from core.critiques import Critique
from core.errors import TiebreakError
from core.formats.published.prompts import read_prompts
from core.items import Item, Response
from core.llm.limits import Limits
from core.llm.router import Router
from core.protocols import start_flow
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_run_fields
from tests.core.protocols.scripted_runs import run_recorded
from tests.openai_server import run_server

SCALEEVAL = {
    "scaleeval/prompt_input.py": '''
        def evaluate_submission(question, submission_1, submission_2, criteria):
            user_prompt = """Which? Pay $1.
            End with the number."""
            system_prompt = """You compare."""
            prompt = f"""
            Q: \'\'\'{question}\'\'\' {submission_1}|{submission_2} {criteria} {user_prompt}
            """
            return system_prompt, prompt
        def start_discussion(question, submission_1, submission_2, criteria, evaluation_1, evaluation_2, evaluation_3):
            user = "Discuss."
            system_prompt_1 = """You are Speaker 1."""
            system_prompt_2 = """You are Speaker 2."""
            system_prompt_3 = """You are Speaker 3."""
            prompt = f"""Q: {question} {submission_1}{submission_2}
            [Speaker 1's Initial]: {evaluation_1};
            [Speaker 2's Initial]: {evaluation_2};
            [Speaker 3's Initial]: {evaluation_3};
            """
            user_prompt = f" [User]: {user}"
        def add_discussion_prompt(round_number, speaker_number, discussion_reasoning):
            discussion_prompt = f"[{speaker_number}, round {round_number}]: {discussion_reasoning}"
        def update_discussion_prompt(question, submission_1, submission_2, criteria, discussion_1, discussion_2, d):
            prompt = f"""Later: {submission_1}{submission_2}
            [Speaker 1's Last]: {discussion_1};
            [Speaker 2's Last]: {discussion_2};
            [Speaker 3's Last]: {discussion_3};
            """
    ''',
    "scaleeval/openai_api.py": """
        def call(self, sys_prompt, prompt, speaker):
            messages = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": prompt}]
            openai.ChatCompletion.create(model=speaker, messages=messages, temperature=0.5, max_tokens=512, n=1)
    """,
    "scaleeval/config.yaml": """
        evaluation: {metric_path: ../criteria/metaeval_clarity.yaml, speaker1: a-1, speaker2: b-2, speaker3: c-0}
        discussion: {num_round: 2, equal_score: False}
    """,
    "criteria/metaeval_clarity.yaml": """
        criteria:
          clear-1: {"1": "Dim - It's dark.", "2": "Lit - Bright."}
          clear-2: {"1": "It's dark.", "2": "Bright."}
    """,
}
CHATEVAL = {
    "agentverse/tasks/llm_eval/config.yaml": """
        prompts:
          prompt: &prompt "Q: ${source_text} ${compared_text_one}|${compared_text_two} $5 ${role_description}\\
            \\ ${agent_name}: ${final_prompt}"
        environment: {max_turns: 4, rule: {order: {type: sequential}}}
        agents:
          - {name: Public, role_description: You read., prompt_template: *prompt, final_prompt_to_use: Score., llm: &llm
            {model: gpt-1, temperature: 0}}
          - {name: Critic, role_description: You ask., prompt_template: *prompt, final_prompt_to_use: Score., llm: *llm}
    """,
}
METACRITIQUE = {
    "meta_critique/openai_config.py": """
        class OpenaiConfig:
            def __init__(self):
                self.model_type = "gpt-1"
                self.temperature = 0.0
    """,
    **{f"meta_critique/prompts/{name}.txt": f"System of {name}." for name in (
        "reference_answer", "reference_critique", "extract_aius", "precision", "recall")},
    "meta_critique/generate_ref_answer.py": 'def f(d):\n    x = build_message(s, data["question"])',
    "meta_critique/generate_ref_critique.py": """
        def f(d):
            cur_input = (f"Q:\\n{data['question'].strip()}\\n" f"A: {data['response'].strip()}\\ncritique:\\n")
            data_inputs.append(build_message(sys_msg, cur_input))
    """,
    "meta_critique/extracting_aius_for_critique.py": 'def f(d):\n    x = build_message(s, f"in: {data.strip()}")',
    "meta_critique/evaluate_aiu_precision.py": """
        def f(d):
            for data in d:
                cur_input = f"A: {data['response'].strip()} R: {data['gpt4_answer'].strip()}"
                for aiu in data:
                    usr_input = cur_input + f" claim: {aiu.strip()}\\n"
                    build_message(sys_msg, usr_input)
    """,
    "meta_critique/evaluate_aiu_recall.py": """
        def f(d):
            usr_input = f"T: {data['hypothesis_critique']['critique'].strip()} claim: {aiu.strip()}"
            build_message(sys_msg, usr_input)
    """,
}  # fmt: skip
DNA = {
    "inference/inference_gpt.py": 'client.create(model="gpt-1", messages=[], temperature=0, seed=100)',
    "inference/prompt/LLMBar/MetricsGen.txt": "Ask three: {input} $5",
    "inference/prompt/LLMBar/WGen.txt": "Weigh: {input} {auxiliary_input_0}",
    "inference/prompt/LLMBar/EvalbyMetric.txt": "By one: {input} {output_1}|{output_2} {auxiliary_input_0} {x}",
    "inference/prompt/LLMBar/Aggregate.txt": "{q1}: {q1_r} {output_1}|{output_2} {input}",
}
ITEM = Item(id="x", prompt="Why {output_1}?", responses=(Response(text="Sun $x"), Response(text="Moon")))


def clone(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(textwrap.dedent(text))
    return folder


def sent(protocol: str, folder: Path, reply: str | dict[str, str], item: Item = ITEM, **settings: Any) -> list[Any]:
    """Return (model, messages) of every request of a trace; `reply` is the reply, or the start of a request -> it."""
    found, installed = read_prompts(protocol, folder), PROTOCOLS[protocol]
    with run_server() as server:
        replies = {"": reply} if isinstance(reply, str) else reply
        server.reply = lambda _, model, prompt: next(  # type: ignore[method-assign]
            text for start, text in reversed(replies.items()) if prompt.startswith(start)
        ).replace("MODEL", model)

        def at_server(value: Any) -> Any:
            if isinstance(value, dict):
                own = {"address": server.address} if "model" in value else {}
                return {name: at_server(one) for name, one in value.items()} | own
            return [at_server(one) for one in value] if isinstance(value, list) else value

        fields = at_server({**found.settings, **settings}) | {"prompts": dict(found.prompts)}
        parsed, own = parse_run_fields(fields, installed, ())
        flow = start_flow(installed, item, parsed, seed=0, templates=installed.prompts_with(own.prompts))
        run_recorded(flow, Router(), limits=Limits(backoff=0))
        return [(body["model"], body["messages"]) for body in server.bodies]


def test_scaleeval_sends_what_its_code_sends(tmp_path: Path) -> None:
    fixed = {"shuffle_responses": False, "shuffle_speakers": False}
    asked = sent("scaleeval", clone(tmp_path, SCALEEVAL), "I am MODEL; it costs $9.\n\n1", **fixed)
    texts = [messages[1]["content"] for _, messages in asked]
    assert len(asked) == 9 and all(messages[0] == {"role": "system", "content": "Be fair."} for _, messages in asked)
    criteria = "{'1': \"Dim - It's dark.\", '2': 'Lit - Bright.'}"
    which = "Which? Pay $1.\n    End with the number."
    assert texts[0] == f"\n    Q: '''Why {{output_1}}?''' Sun $x|Moon {criteria} {which}\n    \n\nYou compare."
    said = {n: f"I am {model}; it costs $9.\n\n1" for n, model in enumerate(("a-1", "b-2", "c-0"), 1)}
    gap = "\n    "
    first = "".join(f"[Speaker {n}'s Initial]: {text};{gap}" for n, text in said.items())
    last = "".join(f"[Speaker {n}'s Last]: {text};{gap}" for n, text in said.items())
    so_far = f"\n\n[1, round 1]: {said[1]}\n\n[2, round 1]: {said[2]}"
    end = "\n\n [User]: Discuss.\n\nYou are Speaker 3."
    assert texts[5] == f"Q: Why {{output_1}}? Sun $xMoon{gap}{first}{so_far}{end}"
    assert texts[8] == f"Later: Sun $xMoon{gap}{last}{so_far.replace('round 1', 'round 2')}{end}"
    found = read_prompts("scaleeval", tmp_path)
    assert found.criteria[0].name == "clarity" and list(found.criteria[0].formats) == ["general", "shortened"]
    path = "scaleeval/prompt_input.py"
    assert found.prompts["quote"].startswith(f"raw: text # {path} {found.files[path][:12]}\n")
    assert read_prompts("single-judge", tmp_path).prompts["reasoned"] == found.prompts["opinion"]


def test_chateval_sends_the_history_as_messages(tmp_path: Path) -> None:
    reply = "A.\nThe score of Assistant 1: 8\nThe score of Assistant 2: 7"
    asked = sent("chateval", clone(tmp_path, CHATEVAL), reply, both_orders=False)
    start = "Q: Why {output_1}? Sun $x|Moon $5"
    assert asked[0][1] == [
        {"role": "user", "content": f"{start} You read. Public: "},
        {"role": "user", "content": ""},
    ]
    history = [{"role": "assistant", "content": f"{name}: {reply}"} for name in ("Public", "Critic", "Public")]
    user = {"role": "user", "content": f"{start} You ask. Critic: Score."}
    assert len(asked) == 4 and asked[3][1] == [user, *history, {"role": "user", "content": "Score."}]


def test_metacritique_sends_the_examples_as_system_message(tmp_path: Path) -> None:
    item = ITEM.model_copy(update={"critiques": (Critique(id="h", author="m", text="It is wrong."),)})
    replies = {"": "Therefore, the claim is true.", "in:": "It is wrong.", "Q:": "Bad.", "Why": "Because."}
    asked = sent("metacritique", clone(tmp_path, METACRITIQUE), replies, item)
    pairs = {(system["content"], user["content"]) for _, (system, user) in asked}
    assert pairs == {
        ("System of reference_answer.", "Why {output_1}?"),
        ("System of reference_critique.", "Q:\nWhy {output_1}?\nA: Sun $x\ncritique:\n"),
        ("System of extract_aius.", "in: It is wrong."),
        ("System of extract_aius.", "in: Bad."),
        ("System of precision.", "A: Sun $x R: Because. claim: It is wrong.\n"),
        ("System of recall.", "T: It is wrong. claim: It is wrong."),
    }


@pytest.mark.parametrize(
    ("aggregation", "last"), [("weighted sum", None), ("chain of aspects", "Is it a?: 8 6 Sun $x|Moon Why {output_1}?")]
)
def test_dna_eval_sends_its_templates(tmp_path: Path, aggregation: str, last: str | None) -> None:
    questions = ["Is it a?", "Is it b?", "Is it c?"]
    proposal = "\n".join(f"{n}. {question}" for n, question in enumerate(questions, 1))
    replies = {"": "8 6", "Ask": proposal, "Weigh": "50% 30% 20%"}
    asked = sent("dna_eval", clone(tmp_path, DNA), replies, aggregation=aggregation)
    texts = {messages[0]["content"] for _, messages in asked}
    whole = {f"By one: Why {{output_1}}? Sun $x|Moon {question} {{x}}" for question in questions}
    assert texts == whole | {"Ask three: Why {output_1}? $5", last or f"Weigh: Why {{output_1}}? {proposal}"}


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TiebreakError, match="There are no released prompts for 'refer'"):
        read_prompts("refer", tmp_path)
    with pytest.raises(TiebreakError, match="has no file agentverse"):
        read_prompts("chateval", tmp_path)
    with pytest.raises(TiebreakError, match="have another form than the release"):
        read_prompts("chateval", clone(tmp_path, {next(iter(CHATEVAL)): "agents: [Critic]"}))
    changed = SCALEEVAL["scaleeval/prompt_input.py"].replace("{question}", "{open('x').read()}")
    with pytest.raises(TiebreakError, match="its code inserts open"):
        read_prompts("scaleeval", clone(tmp_path, {**SCALEEVAL, "scaleeval/prompt_input.py": changed}))
