"""Transcripts of items, under the digests by which items refer to them: what loads items loads no transcripts."""

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from sqlalchemy import exists, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item, Response
from core.labels import Target, Value
from core.own_addresses import own_address
from core.transcripts import BUDGET, FIRST_WRONG_STEP, Transcript, cited_steps, render, step_of
from storage.db.connections import insert_all
from storage.db.tables import TranscriptRow
from storage.studies import items

Key = TypeVar("Key")
# The digest of a transcript, and its JSON compressed.
Encoded = tuple[str, bytes]
# The route that sends a transcript to a browser.
ROUTE = "/transcripts"


def address(study_id: int, digest: str) -> str:
    """Return the address on this server of a study's transcript."""
    return f"{own_address(ROUTE)}?{urlencode({'study': study_id, 'digest': digest})}"


def encode(transcript: Transcript) -> Encoded:
    """Return a transcript as it is stored."""
    return transcript.digest, zlib.compress(transcript.model_dump_json().encode())


def add_encoded(session: Session, study_id: int, transcripts: Sequence[Encoded]) -> None:
    """Add transcripts that the study does not have."""
    rows = [{"study_id": study_id, "digest": digest, "body": body} for digest, body in transcripts]
    insert_all(session, TranscriptRow, rows)


def digests(session: Session, study_id: int) -> set[str]:
    """Return the digests of a study's transcripts."""
    return set(session.scalars(select(col(TranscriptRow.digest)).where(col(TranscriptRow.study_id) == study_id)))


def has_any(session: Session, study_id: int) -> bool:
    """Return whether a study has a transcript."""
    return session.scalar(select(exists().where(col(TranscriptRow.study_id) == study_id))) or False


def of_study(session: Session, study_id: int) -> Iterator[Transcript]:
    """Yield the transcripts of a study, one at a time, in the order in which they were stored."""
    query = select(col(TranscriptRow.body)).where(col(TranscriptRow.study_id) == study_id)
    for body in session.scalars(query.order_by(col(TranscriptRow.id)).execution_options(yield_per=1)):
        yield _decode(body)


def by_digest(session: Session, study_id: int, wanted: Collection[str]) -> Iterator[tuple[str, Transcript]]:
    """Yield (digest, transcript) for those of the digests that the study has, one at a time."""
    query = select(col(TranscriptRow.digest), col(TranscriptRow.body)).where(col(TranscriptRow.study_id) == study_id)
    query = query.where(col(TranscriptRow.digest).in_(wanted)).execution_options(yield_per=1)
    for digest, body in session.execute(query) if wanted else ():
        yield digest, _decode(body)


def count_parts(session: Session, study_id: int, wanted: Collection[str]) -> dict[str, int]:
    """Return the number of parts of those of the digests that the study has."""
    return {digest: len(own.parts) for digest, own in by_digest(session, study_id, wanted)}


def asks_for_step(target: Target) -> bool:
    """Return whether a target is a step of a transcript, or its values are."""
    return (target.kind, target.criterion) == ("answer", FIRST_WRONG_STEP) or step_of(target.part) is not None


def check_steps(session: Session, study_id: int, values: Iterable[tuple[Target, Value | None]]) -> None:
    """Raise TiebreakError for a target or a value that is a step which the transcript of its response does not have.

    The first wrong step of a response without a transcript is any number: its steps are in its text.
    """
    wanted = {(target, value) for target, value in values if asks_for_step(target)}
    found = items.by_keys(session, study_id, {target.item for target, _ in wanted}) if wanted else {}
    named: dict[str | None, list[tuple[Target, float]]] = {}
    for target, value in wanted:
        response, step = step_of(target.part) or (target.part, None)
        own = asked_transcript(found[target.item], response)
        if step is not None:
            named.setdefault(own, []).append((target, step))
        elif own and isinstance(value, int | float) and value:
            named.setdefault(own, []).append((target, value))
    counts = count_parts(session, study_id, {*filter(None, named)})
    for digest, steps in named.items():
        count = counts.get(digest or "", 0)
        for target, number in steps:
            if number != int(number) or not 0 < number <= count:
                have = f"has the steps 1 to {count:,}" if count else "has no transcript"
                raise TiebreakError(f"There is no step {number:g}: item {target.item!r} {have}.")


def count_steps(session: Session, study_id: int, item: Item, response: str) -> int:
    """Return the number of steps of a response's transcript; 0 if it has none."""
    digest = asked_transcript(item, response)
    return sum(count_parts(session, study_id, [digest]).values()) if digest else 0


def step_lines(
    session: Session, study_id: int, found: Mapping[str, Item], targets: Iterable[Target]
) -> dict[Target, str]:
    """Return the text of the step that a target is, for those of the targets that are steps; `found` has the items."""
    named: dict[str, list[tuple[Target, int]]] = {}
    for target in targets:
        if (step := step_of(target.part)) and (digest := asked_transcript(found[target.item], step[0])):
            named.setdefault(digest, []).append((target, step[1]))
    return {
        target: own.parts[number - 1].line()
        for digest, own in by_digest(session, study_id, named.keys())
        for target, number in named[digest]
        if number <= len(own.parts)
    }


def asked_transcript(item: Item, response: str) -> str | None:
    """Return the transcript of a response, "" for the only one that has one."""
    if response.isdecimal() and 0 < int(response) <= len(item.responses):
        return item.responses[int(response) - 1].transcript
    own = [one.transcript for one in item.responses if one.transcript]
    return own[0] if len(own) == 1 and not response else None


def _decode(body: bytes) -> Transcript:
    return Transcript.model_validate_json(zlib.decompress(body))


def with_texts(
    session: Session, study_id: int, found: Mapping[Key, Item], budget: int | None = None
) -> dict[Key, Item]:
    """Return items in which the text of each response with a transcript is the transcript as text.

    `budget`: the characters that the transcripts of an item have together (`costs.transcript_budget`); None: BUDGET
    for each, as people read them. Steps that the question, the context or the reference cites are kept.
    Items without transcripts are returned themselves. Raises TiebreakError for a transcript that is not stored.
    """
    asked = {key: _as_rendered(item, budget) for key, item in found.items()}
    wanted: dict[str, set[_Asked]] = {}
    for key, item in found.items():
        for one in item.responses:
            if one.transcript:
                wanted.setdefault(one.transcript, set()).add(asked[key])
    texts = {
        (digest, one): render(transcript, *one)
        for digest, transcript in by_digest(session, study_id, wanted.keys())
        for one in wanted[digest]
    }
    return {key: _with_text(item, asked[key], texts) if item.transcripts else item for key, item in found.items()}


def with_text(session: Session, study_id: int, item: Item, budget: int | None = None) -> Item:
    """Do the same with one item."""
    return with_texts(session, study_id, {0: item}, budget)[0]


# The characters of a transcript as text, and the steps that are kept.
_Asked = tuple[int, tuple[int, ...]]


def _as_rendered(item: Item, budget: int | None) -> _Asked:
    if budget is None:
        return BUDGET, ()
    own = sum(one.transcript is not None for one in item.responses)
    question = None if item.transcript else item.prompt  # a transcript as question has numbers of its own
    return budget // max(own, 1), tuple(cited_steps(question, item.context, item.reference))


def _with_text(item: Item, asked: _Asked, texts: Mapping[tuple[str, _Asked], str]) -> Item:
    def own(response: Response) -> Response:
        if response.transcript is None:
            return response
        if (response.transcript, asked) not in texts:
            raise TiebreakError(f"The transcript of item {item.id!r} is not stored; import the item's file again.")
        return response.model_copy(update={"text": texts[response.transcript, asked]})

    return item.model_copy(update={"responses": tuple(map(own, item.responses))})
