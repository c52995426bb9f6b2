"""The entries of the sidebar and their sections: pages that one row of tabs joins, each with its own permission."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from core import texts
from core.texts import _, mark
from storage.accounts.access import Permission
from storage.reports.contents import StudyContents

# Of a section in no row of tabs: other pages link to it.
NEVER = "never"


@dataclass(frozen=True)
class Section:
    """A page of an entry: its script below `pages`, and the permission that the visitor needs in its study."""

    entry: str
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

    @property
    def language(self) -> str:
        """The language of the page: that of the visitor if it is for annotators; results and set-up are in English."""
        is_for_annotators = self.script.startswith("label/") or self.script == "setup/account.py"
        return texts.language() if is_for_annotators else texts.SOURCE

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


# The entries of the sidebar in their order, each with its icon. "Methods" is one, so that a study of all methods has no
# more entries than fit; it is named after the method if it is one.
ICONS = {
    mark("Overview"): "home",
    mark("Watch"): "forum",
    mark("Label"): "checklist",
    mark("Adjudicate"): "gavel",
    mark("Judges"): "verified",
    mark("People"): "group",
    mark("Systems"): "leaderboard",
    mark("Methods"): "science",
    mark("Data"): "folder_open",
    mark("Runs"): "play_circle",
    mark("Admin"): "shield_person",
}
SECTIONS: tuple[Section, ...] = (
    Section("Overview", "results/overview.py", "Overview", Permission.open),
    Section("Watch", "watch/traces.py", mark("Traces"), Permission.view, ("runs",)),
    Section("Watch", "watch/search.py", mark("Search"), Permission.view, ("runs",)),
    Section("Watch", "watch/unread.py", mark("Unreadable replies"), Permission.view, ("runs",)),
    Section("Label", "label/home.py", mark("My work"), Permission.label, ("items",)),
    Section("Label", "label/inbox.py", mark("Inbox"), Permission.label, ("items",)),
    Section("Label", "label/disagreements.py", mark("Preferences"), Permission.label, (NEVER,)),
    Section("Label", "label/aius.py", mark("AIUs"), Permission.label, (NEVER,)),
    Section("Label", "label/critiques.py", mark("Critiques"), Permission.label, (NEVER,), "critique_labels"),
    Section("Label", "label/scores.py", mark("Scores"), Permission.label, (NEVER,)),
    Section("Label", "label/peers.py", mark("Misleading peers"), Permission.label, (NEVER,)),
    Section("Label", "label/weights.py", mark("Aspect weights"), Permission.label, (NEVER,), "aspect_weights"),
    Section("Adjudicate", "label/adjudication.py", mark("Adjudication"), Permission.adjudicate, ("labels",)),
    Section("Judges", "results/judges.py", "Judges", Permission.view, ("verdicts",)),
    Section("Judges", "results/policy.py", "Policy", Permission.view, ("verdicts",)),
    Section("Judges", "results/alignment.py", "Alignment", Permission.view, (NEVER,)),
    Section("Judges", "results/biases.py", "Biases", Permission.view, ("verdicts",)),
    Section("Judges", "results/causes.py", "Causes", Permission.view, ("verdicts",)),
    Section("Judges", "results/discussions.py", "Discussions", Permission.view, ("verdicts",)),
    Section("People", "results/agreement.py", "Agreement", Permission.view, ("labels", "verdicts")),
    Section("People", "setup/annotators.py", mark("Annotators"), Permission.open, ("labels",)),
    Section("Systems", "results/systems.py", "Systems", Permission.view, ("systems",)),
    Section("Methods", "results/critiques.py", "Critiques", Permission.view, ("critiques",)),
    Section("Methods", "results/weights.py", "Weights", Permission.view, ("aspects",)),
    Section("Methods", "results/laboratory.py", "Weights laboratory", Permission.view, ("aspects",)),
    Section("Methods", "results/peer_errors.py", "Peer errors", Permission.view, ("peer_reviews",)),
    Section("Data", "setup/studies.py", mark("Studies"), Permission.open),
    Section("Data", "setup/inputs.py", "Inputs", Permission.edit, ("items",)),
    Section("Data", "results/published.py", "Published tables", Permission.view, ("labels", "verdicts")),
    Section("Runs", "setup/runs.py", "Runs", Permission.run, ("items",)),
    Section("Runs", "setup/experiments.py", "Experiments", Permission.run, ("items",)),
    Section("Runs", "results/compare_runs.py", "Compare runs", Permission.view, ("runs",), number=2),
    Section("Runs", "setup/improve.py", "Improve a judge", Permission.edit, ("runs",)),
    Section("Admin", "setup/access.py", "Access", Permission.manage),
    Section("Admin", "setup/audit.py", "Audit", Permission.manage),
    Section("Admin", "setup/account.py", mark("Account"), Permission.open),
)
ENTRIES = tuple(
    Entry(title, icon, tuple(section for section in SECTIONS if section.entry == title))
    for title, icon in ICONS.items()
)


def offered(entry: Entry, granted: Collection[Permission], contents: StudyContents) -> list[Section]:
    """Return the sections of an entry that a visitor with these permissions in a study is offered.

    Annotators and adjudicators may see traces and results after their last label. They are offered the traces; pages
    and messages link to the results.
    """
    is_after_labelling = Permission.label in granted and Permission.export not in granted
    hidden = Permission.view if is_after_labelling and entry.title != "Watch" else None
    return [
        section
        for section in entry.sections
        if section.permission in granted and section.permission is not hidden and section.is_shown(contents)
    ]


def title_of(entry: Entry, sections: Sequence[Section]) -> str:
    """Return the title of an entry in the visitor's language: that of its method, if the study has one method."""
    one_method = entry.title == "Methods" and len({section.needs for section in sections}) == 1
    return _(sections[0].title if one_method else entry.title)
