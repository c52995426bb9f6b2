"""Recorded traces of other tools: one item for each trace, by suggestion alone."""

import json

import pandas as pd
import pytest

from core.errors import FileFormatError
from core.formats.mapping.rows import read_rows
from core.formats.mapping.suggest import build_suggested, suggest_table
from core.formats.records import ItemRecord, TranscriptRecord
from core.formats.tools import inspect_log
from core.formats.transcripts import traces
from tests.core.formats.shared import write_content
from tests.core.formats.transcripts.test_messages import imported
from tests.paths import ROOT

TOOLS = ROOT / "tests" / "fixtures" / "tools"
ROME = [
    ("text", "user", "Rome?"),
    ("tool_call", "assistant", '{"city": "Rome"}'),
    ("error", "tool", "timeout"),
    ("text", "assistant", "I cannot tell."),
]


def parts(path):
    """Return (kind, role, content) of the parts of the only trace of a file."""
    ((_, row),) = read_rows(path)
    return [(part["kind"], part.get("role", ""), part.get("content", "")) for part in row["transcript"]]


def attributes(**values):
    kinds = {str: "stringValue", int: "intValue"}
    return [{"key": key.replace("__", "."), "value": {kinds[type(v)]: v}} for key, v in values.items()]


def trace_of(name):
    """Return the same conversation as a format has it."""
    return json.loads((ROOT / "tests" / "fixtures" / "transcripts" / f"{name}.json").read_text(encoding="utf-8"))


def langfuse(**trace):
    """Return a trace with its observations."""
    return [{"id": "t1", "observations": trace_of("langfuse"), **trace}]


@pytest.mark.parametrize(
    "rows",
    [
        [trace_of("otlp")],
        trace_of("langfuse"),
        langfuse(scores=[]),
        trace_of("langsmith"),
        trace_of("atif"),
    ],
)
def test_a_trace_has_each_message_call_and_result_once(rows, tmp_path):
    path = write_content(tmp_path / "a.jsonl", rows)
    expected = ROME if "steps" not in rows[0] else [*ROME[:2], ("tool_result", "tool", "timeout"), ROME[3]]
    assert parts(path) == expected
    texts, (item,) = imported(path)
    assert len(texts) == 1 and (item.prompt, item.responses[0].text) == ("Rome?", "I cannot tell.")


@pytest.mark.parametrize("message", ["", "lost"])
def test_what_a_tool_returned_stays_beside_its_error(message, tmp_path):
    trace, runs, output = (
        trace_of("otlp"),
        trace_of("langsmith"),
        {"mlflow.spanType": "TOOL", "mlflow.spanOutputs": "31"},
    )
    tool = trace["resourceSpans"][0]["scopeSpans"][0]["spans"][-1]
    tool |= {"status": {"code": 2, "message": message}}
    tool["attributes"] += attributes(gen_ai__tool__call__result="31")
    observations = trace_of("langfuse")
    observations[1] |= {"statusMessage": message, "output": "31"}
    runs[2] |= {"error": message or "failed", "outputs": {"output": "31"}}
    spans = [json.loads(line) for line in (TOOLS / "phoenix_spans.jsonl").read_text(encoding="utf-8").splitlines()]
    for span in (own for own in spans if own["status_code"] == "ERROR"):
        span |= {"status_message": message, "attributes": {**span["attributes"], "output.value": "31"}}
    status = {"status": {"code": "ERROR", "message": message}, "attributes": output}
    mlflow = [{"info": {"trace_id": "t"}, "data": {"spans": [{"span_id": "1", "name": "a", **status}]}}]
    for place, rows in enumerate(([trace], observations, runs, spans, mlflow)):
        found = [
            part for _, row in read_rows(write_content(tmp_path / f"{place}.jsonl", rows)) for part in row["transcript"]
        ]
        found = {part["content"] for part in found if part["kind"] == "error"}
        assert found == {f"{message or 'failed'}\n\n31"}, place


def test_times_tokens_and_sub_agents_are_kept(tmp_path):
    trace = trace_of("otlp")
    spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    inner = attributes(gen_ai__operation__name="invoke_agent", gen_ai__agent__name="researcher")
    spans.append({**spans[0], "spanId": "b", "parentSpanId": "a", "attributes": inner})
    spans[-2]["parentSpanId"] = "b"
    ((_, row),) = read_rows(write_content(tmp_path / "a.jsonl", [trace]))
    call, error = row["transcript"][1:3]
    assert (call["tokens"], call["seconds"], call["call"]) == (7, 1.0, "c")
    assert (error["agent"], error["call"], error["at"]) == ("researcher", "c", "2023-11-14T22:13:23Z")
    assert "agent" not in call


def test_scores_of_a_trace_are_columns_of_its_row(tmp_path):
    scores = [{"name": "quality", "value": 4}, {"name": "tone", "value": 3, "source": "EVAL"}]
    ((_, row),) = read_rows(write_content(tmp_path / "a.jsonl", langfuse(scores=scores, sessionId="s", userId="u")))
    assert (row["scores"], row["group"], row["userId"], row["model"]) == ({"quality": 4}, "s", "u", "gpt")
    mapping, _ = build_suggested(suggest_table(tmp_path / "a.jsonl"))
    assert [[*block.annotators] for block in mapping.labels] == [["scores.quality"]]
    assert [(block.criterion, [*block.columns]) for block in mapping.judges] == [("tone", ["eval_scores.tone"])]
    rows = [row for _, row in read_rows(TOOLS / "mlflow_traces.jsonl")]
    assert [row["assessments"] for row in rows] == [{"quality": 4}] * 2
    own = {"assessment_name": "tone", "feedback": {"value": 3}, "source": {"source_type": "LLM_JUDGE"}}
    trace = {"info": {"trace_id": "t", "assessments": [own]}, "data": {"spans": [{"span_id": "1", "name": "a"}]}}
    ((_, row),) = read_rows(write_content(tmp_path / "b.jsonl", [trace]))
    assert row["eval_scores"] == {"tone": 3} and "assessments" not in row


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_spans_of_phoenix_are_read_from_its_client_and_its_table(suffix, tmp_path):
    path = TOOLS / "phoenix_spans.jsonl"
    texts, items = imported(path)
    assert [item.prompt for item in items] == ["Oslo? ☀", "Rome?"] and {item.group for item in items} == {"s1"}
    assert texts[1].splitlines()[1:] == [
        "[2] user: Rome?",
        '[3] assistant calls weather({"city": 1})',
        "[4] assistant calls search({x)",
        "[5] weather returns: 31",
        "[6] error of search: timeout",
        "[7] assistant: 31 degrees",
    ]
    spans = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    frame = pd.json_normalize([{**span, "attributes": traces.nested(span["attributes"])} for span in spans])
    table = tmp_path / f"a.{suffix}"
    frame.to_parquet(table) if suffix == "parquet" else frame.to_json(table, orient="records", lines=True)
    assert imported(table)[0] == texts


def test_traces_of_mlflow_are_read_with_their_errors():
    texts, items = imported(TOOLS / "mlflow_traces.jsonl")
    assert [item.prompt for item in items] == ["Again ☀?", "Weather in Rome?"]
    assert texts[1].splitlines()[2:] == [
        '[3] assistant calls weather({"city": "Rome"})',
        "[4] weather returns: 31",
        '[5] assistant calls search({"q": "x"})',
        "[6] error of search: ValueError: timeout",
        "[7] assistant: 31 degrees",
    ]


def test_a_record_that_is_no_span_is_named(tmp_path):
    good = json.loads((TOOLS / "phoenix_spans.jsonl").read_text(encoding="utf-8").splitlines()[0])
    with pytest.raises(FileFormatError, match=r"^line 2, field 'context': expected the trace_id and the span_id"):
        list(read_rows(write_content(tmp_path / "a.jsonl", [good, {**good, "context": {}}])))
    with pytest.raises(FileFormatError, match=r"^line 1: expected a record of OTLP JSON \(AttributeError: "):
        list(read_rows(write_content(tmp_path / "b.jsonl", [{"resourceSpans": ["x"]}])))
    former = {**good, "attributes": {}, "events": [{"name": "gen_ai.user.message", "attributes": {"content": "x"}}]}
    with pytest.raises(FileFormatError, match="expected messages in attributes of spans, not in events"):
        list(read_rows(write_content(tmp_path / "c.jsonl", [former])))


def test_a_sample_of_inspect_with_tools_has_a_transcript(tmp_path):
    call = {"id": "c", "function": "weather", "arguments": {"city": "Rome"}, "type": "function"}
    messages = [
        {"role": "user", "content": "Rome?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "", "tool_call_id": "c", "function": "weather", "error": {"message": "timeout"}},
        {"role": "assistant", "content": "attachment://1"},
    ]
    output = {"choices": [{"message": messages[-1]}]}
    own = {"input": "Rome?", "messages": messages, "output": output, "attachments": {"1": ROME[-1][2]}}
    log = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [{"id": 1, **own}]}
    path = write_content(tmp_path / "a.json", log)
    transcript, item = list(inspect_log.read(path))
    assert isinstance(transcript, TranscriptRecord) and isinstance(item, ItemRecord)
    found = transcript.transcript.parts
    assert [(part.kind, part.role, part.content) for part in found] == ROME
    assert item.item.responses[0].transcript == transcript.transcript.digest


def test_a_column_called_observations_is_one_of_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("id,observations\n1,two birds\n")
    rows = [row for _, row in read_rows(tmp_path / "a.csv")]
    assert rows == [{"id": "1", "observations": "two birds"}]
