"""Recorded traces as rows of a table, one for each trace, with the transcript as a list of parts in one of the columns.

A format is one entry of FORMATS: how its rows are recognised, and a function that yields the spans of a row. The
columns of a trace are `id`, `question`, `transcript`, `model`, `group` (its session) and what else the row has, so a
mapping assigns its scores and labels as those of any table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from core.errors import FileFormatError
from core.formats.transcripts.messages import checked, message_parts, new_part, read_time, text_of
from core.formats.transcripts.spans import Collector, Span, SpanKind, parsed
from core.transcripts import MAX_PARTS, Part, Transcript

Row = Mapping[str, Any]
# Characters of the spans of all traces, which are in memory together if a row is a span.
MAX_KEPT = 2**28
KINDS: Mapping[str, SpanKind] = {
    **dict.fromkeys(("LLM", "CHAT_MODEL", "GENERATION", "CHAT", "TEXT_COMPLETION", "GENERATE_CONTENT"), "llm"),
    **dict.fromkeys(("TOOL", "EXECUTE_TOOL"), "tool"),
    **dict.fromkeys(("AGENT", "INVOKE_AGENT"), "agent"),
}
# What is no column of a trace: it is in the transcript, or is of no interest beside it.
NOT_COLUMNS = frozenset(
    (
        *("spans", "data", "trace", "observations", "child_runs", "inputs", "outputs", "input", "output", "steps"),
        *("id", "trace_id", "traceId", "request_id", "name", "run_type", "type", "span_kind", "parent_id"),
        *("parent_run_id", "start_time", "end_time", "startTime", "endTime", "timestamp", "status_code", "error"),
        *("status_message", "events", "extra", "serialized", "session_id", "sessionId", "dotted_order", "manifest_id"),
        *("child_run_ids", "parent_run_ids", "info", "assessments", "scores", "trace_metadata", "request", "response"),
        *("agent", "schema_version", "attributes", "context"),
    )
)
# What the first record of a file that is one conversation has.
MESSAGE_KEYS = frozenset(
    ("role", "content", "tool_calls", "tool_call_id", "name", "function_call", "refusal", "reasoning_content")
)
ROLES_OF_FIRST = ("system", "developer", "user")
# Source of a score in Langfuse or MLflow -> its column, if it is a judge's, or anybody's.
SOURCES = {"EVAL": "eval_scores", "LLM_JUDGE": "eval_scores", "API": "api_scores"}


@dataclass(frozen=True)
class Format:
    """How traces are recorded in a file."""

    name: str
    recognises: Callable[[Row], bool]
    spans: Callable[[Row], Iterator[tuple[str, Span]]] | None = None
    """Yields (trace, span)."""
    parts: Callable[[Row], list[Part]] | None = None
    """Instead: the parts of a row that is a trace."""
    columns: Callable[[Row], dict[str, Any]] = lambda row: {}
    """The other columns of a row that is a trace."""
    whole: bool = True
    """Whether a row has all spans of its traces."""


def grouped(rows: Iterator[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """Yield (line, row): rows of a table as they are, and of recorded traces a row for each trace.

    Raises FileFormatError for a trace that is too large, and for a file whose traces need too much memory.
    """
    first = next(rows, None)
    if first is None:
        return
    format = next((one for one in FORMATS if one.recognises(first[1])), None)
    rows = chain((first,), rows)
    if format is None and first[1].get("role") in ROLES_OF_FIRST and first[1].keys() <= MESSAGE_KEYS:
        yield from _conversation(rows)
    elif format is None:
        yield from rows
    elif format.parts is not None:
        for line, row in rows:
            with _refuse_wrong(format, line):
                parts, columns = format.parts(row), format.columns(row)
            yield line, _row(line, "", parts, columns)
    else:
        yield from _traces(rows, format)


def _conversation(rows: Iterator[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """Yield one row for a file whose records are the messages of one conversation; other records as they are."""
    messages = list(islice(rows, MAX_PARTS + 1))
    if all(row.keys() <= MESSAGE_KEYS for _, row in messages):
        yield messages[0][0], {"messages": [row for _, row in messages]}
    else:
        yield from messages
        yield from rows


def _traces(rows: Iterable[tuple[int, Row]], format: Format) -> Iterator[tuple[int, Row]]:
    found: dict[str, list[Span]] = {}
    lines: dict[str, tuple[int, Row]] = {}
    kept = 0
    assert format.spans is not None
    for line, row in rows:
        kept += 0 if format.whole else len(str(row))
        if kept > MAX_KEPT:
            raise FileFormatError(f"the spans have more than {MAX_KEPT // 2**20} MB; divide the file", line=line)
        with _refuse_wrong(format, line):
            for trace, span in format.spans(row):
                found.setdefault(trace, []).append(span)
                if not span.parent or trace not in lines:
                    lines[trace] = line, format.columns(row)
        if format.whole:
            yield from _rows_of(found, lines)
            found, lines = {}, {}
    yield from _rows_of(found, lines)


@contextmanager
def _refuse_wrong(format: Format, line: int) -> Iterator[None]:
    """Raise FileFormatError for a record that is not as its format has it."""
    try:
        yield
    except FileFormatError as error:
        raise FileFormatError(error.expected, line=line, field=error.field) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise FileFormatError(f"expected a record of {format.name} ({reason})", line=line) from None


def _rows_of(found: Mapping[str, Sequence[Span]], lines: Mapping[str, tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    for trace, spans in found.items():
        line, columns = lines[trace]
        model = next((span.model for span in spans if span.model), None)
        yield line, _row(line, trace, Collector(spans).parts_of_trace(), {"model": model, **columns})


def _row(line: int, trace: str, parts: list[Part], columns: Row) -> Row:
    if not parts:
        parts = [new_part("data", text_of(dict(columns)), name="trace")]
    transcript: Transcript = checked({"parts": parts}, line, "transcript")
    dumped = transcript.model_dump(mode="json")["parts"]
    named = {name: value for name, value in columns.items() if value not in (None, "", {}, [])}
    return {"id": trace or str(line), "question": transcript.question, **named, "transcript": dumped}


def _others(row: Row) -> dict[str, Any]:
    """Return the columns of a record that is a trace."""
    return {name: parsed(value) for name, value in row.items() if name.partition(".")[0] not in NOT_COLUMNS}


# Spans, whose fields and attributes producers call by different names.


def nested(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with dotted names as objects, and those with numbers in their names as lists."""
    tree: dict[str, Any] = {}
    for name in sorted(name for name, value in attributes.items() if value is not None):
        *path, last = name.split(".")
        place = tree
        for key in path:
            inner = place.setdefault(key, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place.setdefault(last, _nested_value(attributes[name]))
    listed: dict[str, Any] = _as_lists(tree)
    return listed


def _nested_value(value: Any) -> Any:
    match value:
        case dict():
            return nested({str(key): inner for key, inner in value.items()})
        case list():
            return [_nested_value(inner) for inner in value]
    return None if isinstance(value, float) and value != value else value


def _as_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _as_lists(one) for key, one in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def _get(tree: Any, path: str) -> Any:
    for key in path.split("."):
        tree = parsed(tree)
        tree = tree.get(key) if isinstance(tree, dict) else None
    return None if isinstance(tree, float) and tree != tree else tree


def _first(tree: Any, *paths: str) -> Any:
    return next((value for path in paths if (value := _get(tree, path)) not in (None, "")), None)


# What the attributes of a span are called: the conventions for GenAI, OpenInference, MLflow and OpenLLMetry.
KIND = ("openinference.span.kind", "gen_ai.operation.name", "mlflow.spanType", "traceloop.span.kind")
INPUTS: Mapping[SpanKind, tuple[str, ...]] = {
    "llm": ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages"),
    "tool": ("gen_ai.tool.call.arguments", "tool.parameters"),
}
OUTPUTS: Mapping[SpanKind, tuple[str, ...]] = {
    "llm": ("gen_ai.output.messages", "gen_ai.completion", "llm.output_messages"),
    "tool": ("gen_ai.tool.call.result",),
}
GENERAL_INPUTS = ("input.value", "mlflow.spanInputs", "traceloop.entity.input", "gen_ai.input.messages")
GENERAL_OUTPUTS = ("output.value", "mlflow.spanOutputs", "traceloop.entity.output", "gen_ai.output.messages")
MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "mlflow.llm.model")
TOKENS = ("gen_ai.usage.output_tokens", "llm.token_count.completion", "mlflow.chat.tokenUsage.output_tokens")
# What the fields of a span are called beside its attributes.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("spanId", "span_id", "context.span_id", "id"),
    "parent": ("parentSpanId", "parent_span_id", "parent_id", "parentObservationId", "parent_run_id"),
    "name": ("name", "span_name"),
    "kind": ("span_kind", "type", "run_type"),
    "start": ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timestamp"),
    "end": ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"),
    "attributes": ("attributes", "span_attributes"),
    "inputs": ("input", "inputs"),
    "outputs": ("output", "outputs"),
    "model": ("model", "extra.metadata.ls_model_name", "extra.invocation_params.model"),
    "tokens": ("usageDetails.output", "usage.output", "completion_tokens"),
    "code": ("status.code", "status_code", "level", "status"),
    "message": ("status.message", "status_message", "statusMessage"),
    "children": ("child_spans", "child_runs"),
}
FAILED = ("2", "ERROR", "STATUS_CODE_ERROR")


def _spans(row: Row) -> Iterator[Span]:
    """Yield a span, and those in it."""
    yield _span(row)
    for inner in parsed(_first(row, *FIELDS["children"])) or ():
        yield from _spans(inner)


def _span(row: Row) -> Span:
    own = {name: _first(row, *paths) for name, paths in FIELDS.items()}
    attributes = _attributes(parsed(own["attributes"]))
    tree = nested({key: parsed(value) if key.startswith("mlflow.") else value for key, value in attributes.items()})
    kind = KINDS.get(str(_first(tree, *KIND) or own["kind"] or "").upper(), "other")
    inputs = _first(tree, *INPUTS.get(kind, ()), *GENERAL_INPUTS)
    outputs = _first(tree, *OUTPUTS.get(kind, ()), *GENERAL_OUTPUTS)
    if instructions := _get(tree, "gen_ai.system_instructions"):
        inputs = [{"role": "system", "parts": parsed(instructions)}, *(parsed(inputs) or ())]
    events = (one.get("name") for one in parsed(row.get("events")) or () if isinstance(one, dict))
    if inputs is None and any(str(name).startswith("gen_ai.") for name in events):
        raise FileFormatError("expected messages in attributes of spans, not in events as former conventions have them")
    tool = _first(tree, "gen_ai.tool.name", "tool.name") if kind == "tool" else None
    agent = _first(tree, "gen_ai.agent.name", "agent.name") if kind == "agent" else None
    return Span(
        id=text_of(own["id"]),
        parent=text_of(parsed(own["parent"])),
        name=text_of(tool or agent or own["name"]),
        kind=kind,
        inputs=own["inputs"] if inputs is None else inputs,
        outputs=own["outputs"] if outputs is None else outputs,
        start=read_time(own["start"]),
        end=read_time(own["end"]),
        error=text_of(own["message"] or "failed") if str(own["code"]) in FAILED else text_of(row.get("error")),
        model=text_of(_first(tree, *MODELS) or own["model"]),
        tokens=whole(_first(tree, *TOKENS) or own["tokens"]),
        call=text_of(_first(tree, "gen_ai.tool.call.id", "tool_call.id")),
    )


def whole(number: Any) -> int | None:
    """Return a count of tokens; None for what is no number."""
    try:
        return int(float(number))
    except (TypeError, ValueError, OverflowError):
        return None


def _value(value: Any) -> Any:
    """Return a value of OTLP JSON."""
    if not isinstance(value, dict) or not value:
        return value
    ((kind, inner),) = list(value.items())[:1]
    match kind:
        case "arrayValue":
            return [_value(one) for one in (inner or {}).get("values", ())]
        case "kvlistValue":
            return _attributes((inner or {}).get("values"))
        case "intValue":
            return int(inner)
    return inner


def _attributes(listed: Any) -> dict[str, Any]:
    if isinstance(listed, dict):
        return listed
    return {str(one.get("key")): _value(one.get("value")) for one in listed or () if isinstance(one, dict)}


def _otlp(row: Row) -> Iterator[tuple[str, Span]]:
    for resource in row.get("resourceSpans") or row.get("resource_spans") or ():
        for scope in resource.get("scopeSpans") or resource.get("scope_spans") or ():
            for span in scope.get("spans") or ():
                yield str(span.get("traceId")), _span(span)


def _openinference(row: Row) -> Iterator[tuple[str, Span]]:
    tree = nested(row)
    trace, id = _get(tree, "context.trace_id"), _get(tree, "context.span_id")
    if not trace or not id:
        raise FileFormatError("expected the trace_id and the span_id of a span", field="context")
    yield str(trace), _span(tree)


def _openinference_columns(row: Row) -> dict[str, Any]:
    return {"group": _get(nested(row), "attributes.session.id"), **_others(row)}


def _trace_of(row: Row) -> Row:
    """Return the trace of a record: the record, or one of its columns."""
    inner = parsed(row.get("trace"))
    return inner if isinstance(inner, dict) else row


def _is_mlflow(row: Row) -> bool:
    """Return whether it is a trace with its spans, or a record with one."""
    names = _trace_of(row).keys()
    return {"info", "data"} <= names or {"spans", "trace_id"} <= names


def _mlflow(row: Row) -> Iterator[tuple[str, Span]]:
    trace = _trace_of(row)
    id = _first(trace, "info.trace_id", "info.request_id", "trace_id") or _first(row, "trace_id", "request_id")
    for span in parsed(_first(trace, "data.spans", "spans") or row.get("spans")) or ():
        yield from ((str(id), own) for own in _spans(span))


def _mlflow_columns(row: Row) -> dict[str, Any]:
    info = _trace_of(row).get("info") or {}
    metadata = info.get("trace_metadata") or row.get("trace_metadata") or {}
    found = parsed(info.get("assessments") or row.get("assessments")) or ()
    ones = [one for one in found if isinstance(one, dict)]
    given = [(one, one.get("source"), one.get("feedback") or one.get("expectation") or {}) for one in ones]
    values = _by_source(
        (
            one.get("assessment_name") or one.get("name"),
            value.get("value"),
            source.get("source_type") if isinstance(source, dict) else source,
        )
        for one, source, value in given
    )
    values["assessments"] = values.pop("scores", {})
    return {"group": metadata.get("mlflow.trace.session"), "tags": info.get("tags"), **_others(row), **values}


def _by_source(values: Iterable[tuple[Any, Any, Any]]) -> dict[str, dict[str, Any]]:
    """Return the columns of (name, value, source): people's in `scores`, judges' and those of an unknown API apart."""
    columns: dict[str, dict[str, Any]] = {}
    for name, value, source in values:
        columns.setdefault(SOURCES.get(str(source).upper(), "scores"), {})[name] = value
    return columns


# Langfuse, LangSmith and ATIF.


def _is_langfuse(row: Row) -> bool:
    """Return whether it is a trace with its observations; a column of a table can have their name, too."""
    own = parsed(row.get("observations"))
    return "id" in row and isinstance(own, list) and all(isinstance(one, dict) for one in own)


def _observations(row: Row) -> Iterator[tuple[str, Span]]:
    """Yield the spans of Langfuse: of a trace with its observations, or of an observation."""
    root = _span(row)
    if not isinstance(row.get("observations"), list | str):
        yield str(row.get("traceId")), root
        return
    for own in map(_span, parsed(row["observations"])):
        yield root.id, replace(own, parent=own.parent or root.id)
    yield root.id, root


def _langfuse_columns(row: Row) -> dict[str, Any]:
    found = [one for one in parsed(row.get("scores")) or () if isinstance(one, dict)]
    scores = _by_source((one.get("name"), one.get("value"), one.get("source")) for one in found)
    return {"group": row.get("sessionId"), **_others(row), **scores}


def _langsmith(row: Row) -> Iterator[tuple[str, Span]]:
    """Yield the spans of LangSmith: of a run, and of the runs in it."""
    yield from ((str(row.get("trace_id") or row.get("id")), span) for span in _spans(row))


def _atif(row: Row) -> list[Part]:
    """Return the parts of a trajectory in the Agent Trajectory Interchange Format."""
    messages: list[Any] = []
    for step in parsed(row["steps"]):
        role = {"agent": "assistant"}.get(step.get("source"), step.get("source") or "")
        at = step.get("timestamp")
        calls = [
            {"id": call.get("tool_call_id"), "name": call.get("function_name"), "arguments": call.get("arguments")}
            for call in step.get("tool_calls") or ()
        ]
        messages.append(
            {"role": role, "content": step.get("message"), "reasoning_content": step.get("reasoning_content"),
             "tool_calls": calls, "timestamp": at}
        )  # fmt: skip
        for result in (step.get("observation") or {}).get("results") or ():
            messages.append(
                {
                    "role": "tool",
                    "content": result.get("content"),
                    "tool_call_id": result.get("source_call_id"),
                    "timestamp": at,
                }
            )
    return [part.model_copy(update={"number": number}) for number, part in enumerate(message_parts(messages), 1)]


def _atif_columns(row: Row) -> dict[str, Any]:
    agent = row.get("agent") or {}
    model = agent.get("model_name") or agent.get("name")
    return {"id": row.get("session_id"), "model": model, **_others(row)}


FORMATS = (
    Format("OTLP JSON", lambda row: bool({"resourceSpans", "resource_spans"} & row.keys()), _otlp, whole=False),
    Format(
        "OpenInference",
        lambda row: "span_kind" in row and bool({"context", "context.span_id"} & row.keys()),
        _openinference, columns=_openinference_columns, whole=False,
    ),
    Format("MLflow", _is_mlflow, _mlflow, columns=_mlflow_columns),
    Format("Langfuse", _is_langfuse, _observations, columns=_langfuse_columns),
    Format(
        "Langfuse observations", lambda row: {"traceId", "startTime", "type"} <= row.keys(), _observations,
        columns=_langfuse_columns, whole=False,
    ),
    Format(
        "LangSmith", lambda row: {"run_type", "inputs", "id"} <= row.keys(), _langsmith, columns=_others, whole=False,
    ),
    Format("ATIF", lambda row: str(row.get("schema_version")).startswith("ATIF"), parts=_atif, columns=_atif_columns),
)  # fmt: skip
