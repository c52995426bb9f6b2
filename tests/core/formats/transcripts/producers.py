"""Records traces of one conversation with the SDKs of Phoenix and MLflow, and exports them into a folder.

Run by another Python, in which arize-phoenix and mlflow are installed: producers.py FOLDER PHOENIX_PORT MLFLOW_PORT.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

CALL = {"id": "c1", "name": "weather", "arguments": '{"city": "Rome"}'}
SPANS = 4
SYSTEM, QUESTION = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rome? ☀"}


def openai_call() -> dict[str, Any]:
    function = {"name": CALL["name"], "arguments": CALL["arguments"]}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


def stored_spans(client: Any) -> Any:
    """Return the spans that Phoenix has stored, which it does some time after it has received them."""
    for _ in range(60):
        try:
            if len(spans := client.spans.get_spans(project_identifier="p")) == SPANS:
                return spans
        except Exception:  # no project before the first span
            pass
        time.sleep(0.5)
    raise SystemExit("Phoenix did not store the spans in 30 seconds.")


def phoenix(folder: Path, port: str) -> None:
    from opentelemetry.trace import Status, StatusCode
    from phoenix.client import Client
    from phoenix.otel import register

    address = f"http://127.0.0.1:{port}"
    provider = register(
        endpoint=f"{address}/v1/traces", project_name="p", batch=False, verbose=False, protocol="http/protobuf"
    )
    tracer = provider.get_tracer("test")

    def attributes(prefix: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for number, message in enumerate(messages):
            place = f"{prefix}.{number}.message"
            found |= {f"{place}.{key}": value for key, value in message.items() if isinstance(value, str)}
            for call in message.get("tool_calls", ()):
                inner = f"{place}.tool_calls.0.tool_call"
                found |= {f"{inner}.id": call["id"]}
                found |= {f"{inner}.function.{key}": call[key] for key in ("name", "arguments")}
        return found

    def model(messages: list[dict[str, Any]], reply: dict[str, Any]) -> None:
        with tracer.start_as_current_span("ChatCompletion") as span:
            span.set_attributes({"openinference.span.kind": "LLM", "llm.model_name": "m"})
            span.set_attributes(attributes("llm.input_messages", messages) | attributes("llm.output_messages", [reply]))

    with tracer.start_as_current_span("agent") as root:
        root.set_attributes({"openinference.span.kind": "AGENT", "input.value": QUESTION["content"]})
        asked = {"role": "assistant", "tool_calls": [CALL]}
        model([SYSTEM, QUESTION], asked)
        with tracer.start_as_current_span("weather") as tool:
            tool.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": "{}"})
            tool.set_status(Status(StatusCode.ERROR, "timeout"))
        result = {"role": "tool", "tool_call_id": "c1", "content": "timeout"}
        model([SYSTEM, QUESTION, asked, result], {"role": "assistant", "content": "I cannot tell."})
    provider.force_flush()
    client = Client(base_url=address)
    spans = stored_spans(client)
    frame = client.spans.get_spans_dataframe(project_identifier="p")
    frame.to_json(folder / "phoenix_table.jsonl", orient="records", lines=True)
    frame.reset_index(drop=True).to_parquet(folder / "phoenix.parquet")
    (folder / "phoenix.jsonl").write_text("".join(json.dumps(span, default=str) + "\n" for span in spans))


def mlflow(folder: Path, port: str) -> None:
    import mlflow
    from mlflow.entities import SpanType

    mlflow.set_tracking_uri(f"http://127.0.0.1:{port}")
    mlflow.set_experiment("e")

    @mlflow.trace(span_type=SpanType.CHAT_MODEL)
    def chat(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if messages[-1]["role"] == "user":
            return {"choices": [{"message": openai_call()}]}
        return {"role": "assistant", "content": "I cannot tell."}

    @mlflow.trace(span_type=SpanType.TOOL, name="weather")
    def weather(city: str) -> str:
        raise TimeoutError("timeout")

    @mlflow.trace(span_type=SpanType.AGENT)
    def agent() -> None:
        messages = [SYSTEM, QUESTION, chat([SYSTEM, QUESTION])["choices"][0]["message"]]
        try:
            weather("Rome")
        except TimeoutError as error:
            messages.append({"role": "tool", "tool_call_id": "c1", "content": str(error)})
        chat(messages)

    agent()
    mlflow.flush_trace_async_logging()
    traces = mlflow.search_traces(return_type="list")
    (folder / "mlflow.jsonl").write_text("".join(json.dumps(json.loads(trace.to_json())) + "\n" for trace in traces))
    mlflow.search_traces().to_json(folder / "mlflow_table.jsonl", orient="records", lines=True)


if __name__ == "__main__":
    phoenix(Path(sys.argv[1]), sys.argv[2])
    mlflow(Path(sys.argv[1]), sys.argv[3])
