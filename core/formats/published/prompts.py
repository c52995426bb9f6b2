"""Prompts of the papers' released code, as raw templates with the settings that belong to them.

    GAIR-NLP/scaleeval                 scaleeval/prompt_input.py, openai_api.py, config.yaml; criteria/*.yaml
    thunlp/ChatEval                    agentverse/tasks/llm_eval/config.yaml
    GAIR-NLP/MetaCritique              meta_critique/prompts/*.txt, with the messages that its *.py files build
    WING-NUS/Decompose-and-Aggregate   inference/prompt/LLMBar/*.txt, inference/inference_gpt.py

Python files are parsed and not executed: the strings that a function assigns are read, with what it inserts as blanks.
The first line of each template has the files that it was read from, with the beginning of their SHA-256.
"""

import ast
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import FileFormatError, TiebreakError
from core.formats.text import read_text
from core.items import Criterion
from core.protocols.prompt_parts import CRITERION_FORMATS
from core.protocols.settings_file import yaml_fields
from core.templates import PROMPT_LINE, SYSTEM_LINE

# Characters of a SHA-256 that the first line of a template has.
DIGITS = 12
_PARAMETERS = ("temperature", "max_tokens", "top_p", "seed")
# Further parameters of the released calls, which other settings have no field for.
_EXTRA = ("frequency_penalty", "presence_penalty")


@dataclass(frozen=True)
class ReleasedPrompts:
    """What a clone of a repository has for a protocol."""

    prompts: Mapping[str, str]
    """Template name -> raw template."""
    settings: Mapping[str, Any]
    """The fields of a settings file, without the prompts."""
    files: Mapping[str, str]
    """Path in the clone -> SHA-256, of each file that was read."""
    criteria: tuple[Criterion, ...] = ()


def read_prompts(protocol: str, folder: Path) -> ReleasedPrompts:
    """Read the prompts of a protocol from a clone of its paper's repository.

    Raises TiebreakError for a protocol without released prompts, and FileFormatError for files of another form.
    """
    if protocol not in READERS:
        raise TiebreakError(f"There are no released prompts for {protocol!r}; there are for {', '.join(READERS)}.")
    try:
        return READERS[protocol](_Clone(folder))
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise FileFormatError(f"The files in {folder} have another form than the release: {error!r}.") from None


@dataclass
class _Clone:
    """A clone of a repository; it records the files that are read."""

    folder: Path
    files: dict[str, str] = field(default_factory=dict)

    def text(self, path: str) -> str:
        """Return the text of a file; line ends are as in the file, except that "\\r\\n" is "\\n"."""
        file = self.folder / path
        if not file.is_file():
            raise FileFormatError(f"{self.folder} has no file {path}: name a clone of the paper's repository.")
        self.files[path] = hashlib.sha256(file.read_bytes()).hexdigest()
        return read_text(file)

    def yaml(self, path: str) -> Mapping[str, Any]:
        return yaml_fields(self.text(path), f"{path} has no fields.")

    def functions(self, path: str) -> dict[str, ast.AST]:
        """Return the functions and methods of a Python file by name."""
        try:
            tree = ast.parse(self.text(path))
        except (SyntaxError, ValueError, RecursionError):
            raise FileFormatError(f"{path} is not Python.") from None
        return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} | {"": tree}

    def raw(self, rule: str, text: str, *paths: str, system: str = "") -> str:
        """Return a raw template with the files that it is from."""
        sources = ", ".join(f"{path} {self.files[path][:DIGITS]}" for path in paths)
        head = f"{SYSTEM_LINE}\n{system}\n{PROMPT_LINE}\n" if system else ""
        return f"raw: {rule}{f' # {sources}' if sources else ''}\n{head}{text}"


def _escaped(text: str) -> str:
    return text.replace("$", "$$")


def _filled(text: str, blanks: Mapping[str, str], form: str = "{%s}") -> str:
    """Return a text as a template: a placeholder of a name in the mapping is its blank, any other text is literal."""
    parts = re.split(re.escape(form).replace("%s", f"({'|'.join(blanks)})"), text)
    return "".join(f"${{{blanks[part]}}}" if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _template(node: ast.AST, known: Mapping[str, str]) -> str:
    """Return the template of an expression of strings; `known` has what its other parts are, by their source text."""
    match node:
        case ast.Constant(value=str() as text):
            return _escaped(text)
        case ast.JoinedStr(values=parts):
            return "".join(_template(part, known) for part in parts)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _template(value, known)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left, known) + _template(right, known)
    source = ast.unparse(node)
    if source not in known:
        raise FileFormatError(f"its code inserts {source}, which this version does not know.")
    return known[source]


def _strings(function: ast.AST, blanks: Mapping[str, str]) -> dict[str, str]:
    """Return variable -> template of each string that a function assigns; `blanks` names what it inserts."""
    known = {source: f"${{{blank}}}" for source, blank in blanks.items()}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            is_text = isinstance(node.value, ast.JoinedStr | ast.BinOp) or (
                isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            )
            if is_text:
                known[node.targets[0].id] = _template(node.value, known)
    return known


def _call_parameters(tree: ast.AST) -> dict[str, Any]:
    """Return the parameters of a request that the calls in a Python file give as constants."""
    return {
        keyword.arg: keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in (*_PARAMETERS, *_EXTRA, "model") and isinstance(keyword.value, ast.Constant)
    }


def _judge(name: str, parameters: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    own = {key: parameters[key] for key in _PARAMETERS if parameters.get(key) is not None}
    extra = {key: parameters[key] for key in _EXTRA if key in parameters}
    return {"name": name, **fields, "answer_format": "text", **own, **({"extra": extra} if extra else {})}


SCALEEVAL = "scaleeval/prompt_input.py"
_MATERIAL = {name: name for name in ("question", "submission_1", "submission_2", "criteria")}
_NUMBERED = re.compile(r"(.+?)(?:-([1-6]))?")


def _scaleeval(clone: _Clone) -> ReleasedPrompts:
    """Read the first opinion, the replies of the first and of later rounds, and how they quote the speakers."""
    prompts, api = clone.functions(SCALEEVAL), "scaleeval/openai_api.py"
    calls = clone.functions(api)[""]
    config = clone.yaml("scaleeval/config.yaml")
    system = _system_message(calls)
    opinion = _strings(prompts["evaluate_submission"], _MATERIAL)
    evaluations = {f"evaluation_{number}": f"text_{number}" for number in (1, 2, 3)}
    discussions = {f"discussion_{number}": f"text_{number}" for number in (1, 2, 3)}
    first = _strings(prompts["start_discussion"], _MATERIAL | evaluations)
    later = _strings(prompts["update_discussion_prompt"], _MATERIAL | discussions)
    added = {"round_number": "round", "speaker_number": "number", "discussion_reasoning": "text"}
    quote = "\n\n" + _strings(prompts["add_discussion_prompt"], added)["discussion_prompt"]
    roles = [first[f"system_prompt_{number}"] for number in (1, 2, 3)]
    role = roles[0].replace("Speaker 1", "Speaker ${number}")
    if any(role.replace("${number}", str(number)) != own for number, own in enumerate(roles, start=1)):
        raise FileFormatError(f"the speakers of {SCALEEVAL} have different prompts.")
    end = "\n\n" + first["user_prompt"] + "\n\n" + role
    head, initial = _before_speakers(first["prompt"])
    head_later, previous = _before_speakers(later["prompt"])
    rule, paths = "line", (SCALEEVAL, api)
    texts = {
        "opinion": clone.raw(rule, f"{opinion['prompt']}\n\n{opinion['system_prompt']}", *paths, system=system),
        "reply": clone.raw(rule, f"{head}${{discussion}}{end}", *paths, system=system),
        "reply_later": clone.raw(rule, f"{head_later}${{discussion}}{end}", *paths, system=system),
        "quote": clone.raw("text", quote, SCALEEVAL),
        "quote_initial": clone.raw("text", initial, SCALEEVAL),
        "quote_previous": clone.raw("text", previous, SCALEEVAL),
    }
    criteria = _criteria(clone)
    parameters, evaluation = _call_parameters(calls), config["evaluation"]
    models = [str(evaluation[f"speaker{number}"]) for number in (1, 2, 3)]
    wanted = Path(str(evaluation["metric_path"])).stem.removeprefix("metaeval_")
    criterion = next((one for one in criteria if one.name == wanted), criteria[0])
    settings = {
        "judges": [_judge(model, parameters, model=model) for model in models],
        "criterion": criterion.model_dump(mode="json", exclude_defaults=True),
        "rounds": int(config["discussion"]["num_round"]) + 1,
        "stop_early": bool(config["discussion"]["equal_score"]),
        "reply_order": "sequential",
    }
    return ReleasedPrompts(texts, settings, clone.files, criteria)


def _scaleeval_evaluator(clone: _Clone) -> ReleasedPrompts:
    """Read the prompt of a judge alone, which is the first opinion of a debate, for each of its models."""
    found = _scaleeval(clone)
    settings = {"judge": found.settings["judges"][0], "criterion": found.settings["criterion"]}
    return ReleasedPrompts({"reasoned": found.prompts["opinion"]}, settings, found.files, found.criteria)


def _system_message(tree: ast.AST) -> str:
    """Return the system message of the first request in a Python file; empty if it has none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            fields = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if key}  # type: ignore[attr-defined]
            role, content = fields.get("role"), fields.get("content")
            if isinstance(role, ast.Constant) and role.value == "system" and isinstance(content, ast.Constant):
                return _escaped(str(content.value))
    return ""


def _before_speakers(text: str) -> tuple[str, str]:
    """Return the part of a reply before the three speakers are quoted, and the template of a quoted one."""
    places = [text.find(f"[Speaker {number}'s") for number in (1, 2, 3)]
    quoted = text[places[0] : places[1]]
    each = [quoted.replace("Speaker 1", f"Speaker {n}").replace("${text_1}", f"${{text_{n}}}") for n in (1, 2, 3)]
    if -1 in places or "".join(each) != text[places[0] :]:
        raise FileFormatError(f"{SCALEEVAL} quotes the three speakers in another form than the release.")
    return text[: places[0]], quoted.replace("Speaker 1", "Speaker ${number}").replace("${text_1}", "${text}")


def _criteria(clone: _Clone) -> tuple[Criterion, ...]:
    """Read each criterion with its six formats (Table 7), whose text is the mapping of levels as Python prints it.

    The first criterion of a file has the name of the file, such as *reasoning*; others have their own.
    """
    levels: dict[str, dict[int, Mapping[str, str]]] = {}
    for file in sorted((clone.folder / "criteria").glob("*.yaml")):
        first = ""
        for name, texts in clone.yaml(f"criteria/{file.name}")["criteria"].items():
            found = _NUMBERED.fullmatch(str(name))
            assert found is not None, "the pattern matches every name"
            first = first or found[1]
            named = file.stem.removeprefix("metaeval_") if found[1] == first else found[1]
            levels.setdefault(named, {})[int(found[2] or 1)] = {str(key): str(text) for key, text in texts.items()}
    if not levels:
        raise FileFormatError(f"{clone.folder} has no criteria/*.yaml: name a clone of the paper's repository.")
    return tuple(
        Criterion(
            name=name,
            rubric=tuple(own[min(own)].values()),
            formats={CRITERION_FORMATS[number - 1]: repr(dict(texts)) for number, texts in sorted(own.items())},
        )
        for name, own in levels.items()
    )


CHATEVAL = "agentverse/tasks/llm_eval/config.yaml"
_OF_AGENT = {
    "source_text": "question", "compared_text_one": "answer_1", "compared_text_two": "answer_2",
    "generated_text": "response", "reference_text": "reference", "role_description": "role", "agent_name": "persona",
    "final_prompt": "task",
}  # fmt: skip


def _chateval(clone: _Clone) -> ReleasedPrompts:
    """Read the prompt of the agents, their roles and the final request, and how messages of others are sent."""
    config = clone.yaml(CHATEVAL)
    agents = config["agents"]
    if any(agent[key] != agents[0][key] for agent in agents for key in ("prompt_template", "final_prompt_to_use")):
        raise FileFormatError(f"the agents of {CHATEVAL} have different prompts.")
    prompt = _filled(agents[0]["prompt_template"], _OF_AGENT, "${%s}")
    is_pair = "${answer_1}" in prompt
    raw = {
        "role": "${role}",
        "no_history": "",
        "quote": "\n=== assistant ===\n${persona}: ${text}",
        "discuss": "",
        "judge": _escaped(agents[0]["final_prompt_to_use"]),
    }
    rule = "named" if is_pair else "labelled, line"
    whole = clone.raw(rule, f"{prompt}${{history}}\n=== user ===\n${{task}}", CHATEVAL)
    texts = {name: clone.raw("text", text, CHATEVAL) for name, text in raw.items()}
    environment = config["environment"]
    is_sequential = environment["rule"]["order"]["type"] == "sequential"
    settings = {
        "personas": [
            _judge(str(agent["name"]), agent["llm"], model=agent["llm"]["model"], role=agent["role_description"])
            for agent in agents
        ],
        "outcome": "scores" if is_pair else "rating",
        "strategy": "one by one" if is_sequential else "simultaneous",
        "turns": max(1, int(environment["max_turns"]) // (len(agents) if is_sequential else 1)),
    }
    return ReleasedPrompts({"compare" if is_pair else "rate": whole, **texts}, settings, clone.files)


METACRITIQUE = "meta_critique"
_OF_DATA = {
    "data['question']": "question", "data['question'].strip()": "question", "data['response'].strip()": "response",
    "data['gpt4_answer'].strip()": "reference_answer", "aiu.strip()": "claim", "data.strip()": "critique",
    "data['hypothesis_critique']['critique'].strip()": "reference_text",
}  # fmt: skip
# Template -> the file of the system message, the Python file and the function that build the request, the rule.
_STEPS = {
    "reference_answer": ("reference_answer", "generate_ref_answer", "text"),
    "reference_critique": ("reference_critique", "generate_ref_critique", "text"),
    "extract": ("extract_aius", "extracting_aius_for_critique", "list"),
    "precision": ("precision", "evaluate_aiu_precision", "sentence, labelled, line"),
    "recall": ("recall", "evaluate_aiu_recall", "sentence, labelled, line"),
}


def _metacritique(clone: _Clone) -> ReleasedPrompts:
    """Read the system messages, with their examples, and the messages that the code builds from the data."""
    texts = {}
    for name, (message, module, rule) in _STEPS.items():
        paths = f"{METACRITIQUE}/prompts/{message}.txt", f"{METACRITIQUE}/{module}.py"
        system, functions = _escaped(clone.text(paths[0])), clone.functions(paths[1])
        builder = next((f for key, f in functions.items() if key and _built(f) is not None), None)
        built = None if builder is None else _built(builder)
        if builder is None or built is None:
            raise FileFormatError(f"{paths[1]} builds no message.")
        texts[name] = clone.raw(rule, _template(built, _strings(builder, _OF_DATA)), *paths, system=system)
    config = clone.functions(f"{METACRITIQUE}/openai_config.py")["__init__"]
    constants = {
        target.attr: node.value.value
        for node in ast.walk(config)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    model = str(constants["model_type"])
    return ReleasedPrompts(texts, {"judges": [_judge(model, constants, model=model)]}, clone.files)


def _built(function: ast.AST) -> ast.AST | None:
    """Return the user's message in the call of `build_message`; None if there is no such call."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return next((call.args[1] for call in calls if call.func.id == "build_message" and len(call.args) > 1), None)  # type: ignore[attr-defined]


DNA = "inference/prompt/LLMBar"
_RESPONSES = {"input": "question", "output_1": "response_1", "output_2": "response_2"}
_ASPECTS = {f"q{n}": f"aspect_{n}" for n in (1, 2, 3)} | {f"q{n}_r": f"scores_{n}" for n in (1, 2, 3)}


def _dna(clone: _Clone, files: Mapping[str, tuple[str, str, Mapping[str, str]]]) -> ReleasedPrompts:
    """Read templates: name -> (file, rule, further placeholders)."""
    texts = {
        name: clone.raw(rule, _filled(clone.text(path), {**_RESPONSES, **further}), path)
        for name, (file, rule, further) in files.items()
        for path in [f"{DNA}/{file}.txt"]
    }
    call = _call_parameters(clone.functions("inference/inference_gpt.py")[""])
    return ReleasedPrompts(texts, {"judges": [_judge(call["model"], call, model=call["model"])]}, clone.files)


def _dna_eval(clone: _Clone) -> ReleasedPrompts:
    files: dict[str, tuple[str, str, Mapping[str, str]]] = {
        "aspects": ("MetricsGen", "list", {}),
        "weights": ("WGen", "row", {"auxiliary_input_0": "aspects_proposed"}),
        "score": ("EvalbyMetric", "row", {"auxiliary_input_0": "aspect"}),
        "overall": ("Aggregate", "row", _ASPECTS),
    }
    found = _dna(clone, files)
    return ReleasedPrompts(found.prompts, {**found.settings, "proposed": 3}, found.files)


def _dna_baselines(clone: _Clone) -> ReleasedPrompts:
    return _dna(clone, {"direct": ("Score", "row", {}), "reasoned": ("CoT", "row", {})})


READERS: Mapping[str, Callable[[_Clone], ReleasedPrompts]] = {
    "scaleeval": _scaleeval,
    "single-judge": _scaleeval_evaluator,
    "chateval": _chateval,
    "metacritique": _metacritique,
    "dna_eval": _dna_eval,
    "dna_baselines": _dna_baselines,
}
