"""A study with one transcript of an agent, whose first wrong step is labelled, and a debate that cites its steps."""

import base64
from io import BytesIO

from PIL import Image
from sqlalchemy import Engine, select

from core.formats.records import ItemRecord, Record, RunRecord, TraceRecord, TranscriptRecord
from core.items import Response
from core.labels import Opinion
from core.trace import Turn, TurnCompleted, Verdict, VerdictReached
from core.transcripts import FIRST_WRONG_STEP, Part, Transcript
from storage.db.connections import reading
from storage.db.tables import TraceRow
from storage.transfer import imports
from tests.conftest import make_item
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

STUDY = "agents"
REPLY = "Step [4] went wrong before [3, 99]."


def picture() -> str:
    """A PNG of one pixel as a data URI."""
    file = BytesIO()
    Image.new("RGB", (1, 1)).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def transcript(count: int) -> Transcript:
    """An agent with a call, its result, an error and an answer in turns; then an image, and a forged one."""
    parts = [Part(number=1, kind="text", role="user", content="What is the **weather** in Rome? <b>Now</b>")]
    for number in range(2, count - 1):
        call = f"call {number // 4}"
        turn = (
            {"kind": "tool_call", "name": "weather", "content": '{"city": "Rome", "days": 3}', "call": call},
            {"kind": "tool_result", "name": "weather", "content": f"31 degrees at station {number}", "call": call},
            {"kind": "error", "name": "weather", "content": f"timeout {number}", "seconds": 30.0},
            {"kind": "text", "role": "assistant", "content": f"It is warm.\n\n| a | b |\n|---|---|\n| {number} | 2 |"},
        )[(number - 2) % 4]
        parts.append(Part(number=number, **turn))
    forged = "data:image/png;base64,PHN2Zz4="
    parts += [
        Part(number=count - 1 + place, kind="image", content=one) for place, one in enumerate((picture(), forged))
    ]
    return Transcript(parts=tuple(parts))


def plant(engine: Engine, count: int = 40, study: str = STUDY) -> int:
    """Import the study, and return the id of its first trace."""
    agent = transcript(count)
    item = make_item("trip", responses=(Response(text=agent.answer, transcript=agent.digest),))
    debate = a_trace("trip", a_turn(reply=REPLY), a_verdict())
    judge = {"name": "j", "spec": {"model": "m"}}
    run = RunRecord(name="steps", protocol="single-step", settings={"judge": judge})
    turn = Turn(speaker="j", step="all", round=0, model="m", reply=REPLY, reading=4)
    opinion = Opinion(kind="answer", criterion=FIRST_WRONG_STEP, judge="j", stage="verdict", value=4)
    named = [
        opinion.model_copy(update={"judge": name, "stage": "last", "value": n}) for name, n in (("j", 4), ("k", 8))
    ]
    verdict = Verdict(outcome="agreed", value=4, opinions=(*named, opinion))
    events = (TurnCompleted(ask=0, turn=turn), VerdictReached(verdict=verdict))
    records: list[Record] = [TranscriptRecord(transcript=agent), ItemRecord(item=item), RUN, debate]
    records += [run, TraceRecord(run="steps", item="trip", events=events)]
    imports.import_records(engine, study, records)
    with reading(engine) as session:
        return session.scalars(select(TraceRow.id).order_by(TraceRow.id.desc()).offset(1)).first()


def plant_pair(engine: Engine, study: str = "pairs") -> int:
    """Import a study of one disputed pair of transcripts that part at step 6, and return the id of its trace."""
    one = transcript(40)
    parts = [part.model_copy(update={"content": "No."}) if part.number == 6 else part for part in one.parts[:30]]
    both = (one, Transcript(parts=tuple(parts)))
    item = make_item("pair", responses=tuple(Response(text=each.answer, transcript=each.digest) for each in both))
    stored = [TranscriptRecord(transcript=each) for each in both]
    imports.import_records(engine, study, [*stored, ItemRecord(item=item), RUN, a_trace("pair", a_turn(), a_verdict())])
    with reading(engine) as session:
        return session.scalars(select(TraceRow.id).order_by(TraceRow.id.desc())).first()
