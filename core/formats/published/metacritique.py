"""MetaCritique's annotated critiques (Sun et al. 2024, Section 3; https://github.com/GAIR-NLP/MetaCritique).

`annotation_data.json` is one array of records: a question, the answer under critique, a reference answer and critique,
a human critique and two by models, each with its AIUs. The label of every AIU was settled between two annotators and a
third who checked them; only the outcome was published, so it is the label of one annotator here.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from core.critiques import Critique, covered, factual, hypotheses, numbered, reference
from core.formats.records import ItemRecord, LabelRecord, Records, ScaleRecord
from core.formats.text import first, whole
from core.formats.validation_errors import refused
from core.items import Item, Response
from core.labels import TRUTH, Label
from core.problems import FileRefused

ANNOTATOR = "annotators (adjudicated)"
HUMAN = "human"
REFERENCE_MODEL = "gpt-4"
FIELDS = ("human_critique", "llm1_critique", "llm2_critique")
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class Listed(BaseModel):
    """A critique with its AIUs, as the file has it."""

    critique: Text
    aius: list[Annotated[Text, Field(min_length=1)]]


class Labelled(Listed):
    """A hypothesis critique: a label for each of its AIUs, and for each of the reference critique's."""

    model: Text = HUMAN
    precision_labels: list[bool]
    recall_labels: list[bool]


class Entry(BaseModel):
    """One record; what else it holds (scores, places in other files) follows from this."""

    shepherd_id: int
    dataset: Text
    question: Text
    response: Text
    gpt4_answer: Text
    gpt4_critique: Listed
    human_critique: Labelled
    llm1_critique: Labelled
    llm2_critique: Labelled

    def labelled(self) -> Mapping[str, Labelled]:
        """The hypothesis critiques by the ids that they get."""
        return {field.partition("_")[0]: getattr(self, field) for field in FIELDS}


ENTRIES: TypeAdapter[list[Entry]] = TypeAdapter(list[Entry])


def recognises(path: Path) -> bool:
    """One JSON array whose first record comes from Shepherd and has a reference by GPT-4."""
    if not path.is_file() or path.suffix != ".json":
        return False
    head = first(path)
    return head.startswith("[") and '"shepherd_id"' in head and '"gpt4_' in head


def read(path: Path) -> Records:
    """Scales, items with four critiques each, and a label for every AIU; raises FileRefused with the field."""
    entries = _entries(whole(path))
    yield ScaleRecord(kind="aiu_precision", scale=TRUTH)
    yield ScaleRecord(kind="aiu_recall", scale=TRUTH)
    for place, entry in enumerate(entries):
        _check(entry, place)
        item = _item(entry)
        yield ItemRecord(item=item)
        yield from _labels(entry, item)


def _entries(text: str) -> list[Entry]:
    try:
        return ENTRIES.validate_python(json.loads(text))
    except json.JSONDecodeError as error:
        raise FileRefused(f"expected one JSON array: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise FileRefused("expected one JSON array, not lists in lists without end") from None
    except ValidationError as error:
        raise refused(error) from None


def _check(entry: Entry, place: int) -> None:
    """Every AIU has one label."""
    wanted = len(entry.gpt4_critique.aius)
    for field, one in zip(FIELDS, entry.labelled().values(), strict=True):
        for labels, there, whose in (
            ("precision_labels", len(one.aius), "the critique"),
            ("recall_labels", wanted, "the reference critique"),
        ):
            found = len(getattr(one, labels))
            if found != there:
                sentence = f"expected {there} labels, one for each AIU of {whose}, and there are {found}"
                raise FileRefused(sentence, field=f"{place}.{field}.{labels}")


def _item(entry: Entry) -> Item:
    return Item(
        id=f"{entry.dataset} {entry.shepherd_id}",
        prompt=entry.question,
        responses=(Response(text=entry.response),),
        reference=entry.gpt4_answer,
        scenario=entry.dataset,
        critiques=(*_critiques(entry), _critique("reference", REFERENCE_MODEL, entry.gpt4_critique, role="reference")),
    )


def _critiques(entry: Entry) -> Iterator[Critique]:
    for name, one in entry.labelled().items():
        yield _critique(name, one.model, one, source="people" if name == HUMAN else "llm")


def _critique(name: str, author: str, listed: Listed, **fields: Any) -> Critique:
    return Critique(id=name, author=author, text=listed.critique, aius=numbered(name, listed.aius), **fields)


def _labels(entry: Entry, item: Item) -> Records:
    held = reference(item.critiques)
    for critique in hypotheses(item.critiques):
        said = entry.labelled()[critique.id]
        about = [factual(item.id, aiu.id) for aiu in critique.aius or ()]
        about += [covered(item.id, aiu.id, critique.id) for aiu in (held.aius or () if held else ())]
        for target, value in zip(about, said.precision_labels + said.recall_labels, strict=True):
            yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
