"""The entries of the sidebar and their sections: pages that one row of tabs joins, each with its own permission."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from storage.accounts.access import Permission
from storage.reports.contents import StudyContents

NEVER = "never"
"""Of a section in no row of tabs: other pages link to it."""


@dataclass(frozen=True)
class Section:
    """A page: its script below `pages`, and the permission that the visitor needs in its study."""

    script: str
    title: str
    permission: Permission
    needs: tuple[str, ...] = ()
    """What a study needs so that it is offered: one of these fields of `StudyContents`. The address works in any case.
    """
    name: str = ""
    """Its name in the address, if that is not the script's."""
    number: int = 1
    """How many of what it needs, if that is counted."""

    def is_shown(self, contents: StudyContents) -> bool:
        """Return whether a study has something for it."""
        return not self.needs or any(getattr(contents, name, 0) >= self.number for name in self.needs)

    @property
    def path(self) -> str:
        """Its name in the address; that of the first page is not used."""
        return self.name or PurePath(self.script).stem


@dataclass(frozen=True)
class Entry:
    """An entry of the sidebar; it opens its first section that the visitor may see and the study has data for."""

    title: str
    icon: str
    sections: tuple[Section, ...]


WATCH = Entry(
    "Watch",
    "forum",
    (
        Section("watch/traces.py", "Traces", Permission.view, ("runs",)),
        Section("watch/search.py", "Search", Permission.view, ("runs",)),
        Section("watch/unread.py", "Unreadable replies", Permission.view, ("runs",)),
    ),
)
METHODS = Entry(
    "Methods",
    "science",
    (
        Section("results/critiques.py", "Critiques", Permission.view, ("critiques",)),
        Section("results/weights.py", "Weights", Permission.view, ("aspects",)),
        Section("results/laboratory.py", "Weights laboratory", Permission.view, ("aspects",)),
        Section("results/peer_errors.py", "Peer errors", Permission.view, ("peer_reviews",)),
    ),
)
"""One entry, so that a study of all methods has no more entries than fit; named after the method if it is one."""
ENTRIES: tuple[Entry, ...] = (
    Entry("Overview", "home", (Section("results/overview.py", "Overview", Permission.open),)),
    WATCH,
    Entry(
        "Label",
        "checklist",
        (
            Section("label/home.py", "My work", Permission.label, ("items",)),
            Section("label/inbox.py", "Inbox", Permission.label, ("items",)),
            Section("label/disagreements.py", "Disagreements", Permission.label, (NEVER,)),
            Section("label/aius.py", "AIUs", Permission.label, (NEVER,)),
            Section("label/critiques.py", "Critiques", Permission.label, (NEVER,), "critique_labels"),
            Section("label/scores.py", "Scores", Permission.label, (NEVER,)),
            Section("label/weights.py", "Aspect weights", Permission.label, (NEVER,), "aspect_weights"),
        ),
    ),
    Entry(
        "Adjudicate",
        "gavel",
        (Section("label/adjudication.py", "Adjudication", Permission.adjudicate, ("labels",)),),
    ),
    Entry(
        "Judges",
        "verified",
        (
            Section("results/judges.py", "Judges", Permission.view, ("verdicts",)),
            Section("results/alignment.py", "Alignment", Permission.view, (NEVER,)),
            Section("results/biases.py", "Biases", Permission.view, ("verdicts",)),
            Section("results/causes.py", "Causes", Permission.view, ("verdicts",)),
            Section("results/discussions.py", "Discussions", Permission.view, ("verdicts",)),
        ),
    ),
    Entry(
        "People",
        "group",
        (
            Section("results/agreement.py", "Agreement", Permission.view, ("labels", "verdicts")),
            Section("setup/annotators.py", "Annotators", Permission.open, ("labels",)),
        ),
    ),
    Entry("Systems", "leaderboard", (Section("results/systems.py", "Systems", Permission.view, ("systems",)),)),
    METHODS,
    Entry(
        "Data",
        "folder_open",
        (
            Section("setup/studies.py", "Studies", Permission.open),
            Section("setup/inputs.py", "Inputs", Permission.edit, ("items",)),
            Section("results/published.py", "Published tables", Permission.view, ("labels", "verdicts")),
        ),
    ),
    Entry(
        "Runs",
        "play_circle",
        (
            Section("setup/runs.py", "Runs", Permission.run, ("items",)),
            Section("setup/experiments.py", "Experiments", Permission.run, ("items",)),
            Section("results/compare_runs.py", "Compare runs", Permission.view, ("runs",), number=2),
            Section("setup/improve.py", "Improve a judge", Permission.edit, ("runs",)),
        ),
    ),
    Entry(
        "Admin",
        "shield_person",
        (
            Section("setup/access.py", "Access", Permission.manage),
            Section("setup/audit.py", "Audit", Permission.manage),
            Section("setup/account.py", "Account", Permission.open),
        ),
    ),
)
SECTIONS: tuple[Section, ...] = tuple(section for entry in ENTRIES for section in entry.sections)


def section_of(script: str) -> Section:
    """Return the section of a script."""
    return next(section for section in SECTIONS if section.script == script)


def offered(entry: Entry, granted: Collection[Permission], contents: StudyContents) -> list[Section]:
    """Return the sections of an entry that a visitor with these permissions in a study is offered.

    Annotators and adjudicators may see traces and results after their last label. They are offered the traces; pages
    and messages link to the results.
    """
    is_after_labelling = Permission.label in granted and Permission.export not in granted
    hidden = Permission.view if is_after_labelling and entry is not WATCH else None
    return [
        section
        for section in entry.sections
        if section.permission in granted and section.permission is not hidden and section.is_shown(contents)
    ]


def title_of(entry: Entry, sections: Sequence[Section]) -> str:
    """Return the title of an entry: that of its method for methods, if the study has one."""
    one_method = entry is METHODS and len({section.needs for section in sections}) == 1
    return sections[0].title if one_method else entry.title
