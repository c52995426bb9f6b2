"""The pages of the sidebar, and the permission that each needs."""

from storage.accounts.access import Permission

Entry = tuple[str, str, str, str | None, Permission]
"""The script of a page, its title, its icon, its name in the address if that is not the script's, and the permission
that the visitor needs in the study of the page (see `storage.accounts.access`)."""
SECTIONS: dict[str, tuple[Entry, ...]] = {
    "": (("results/overview.py", "Overview", "home", None, Permission.open),),
    "Watch": (
        ("watch/traces.py", "Traces", "forum", None, Permission.view),
        ("watch/unread.py", "Unreadable replies", "help", None, Permission.view),
        ("watch/search.py", "Search", "search", None, Permission.view),
    ),
    "Label": (
        ("label/home.py", "Home", "checklist", None, Permission.label),
        ("label/disagreements.py", "Disagreements", "balance", None, Permission.label),
        ("label/aius.py", "AIUs", "rule", None, Permission.label),
        ("label/critiques.py", "Critiques", "rate_review", "critique_labels", Permission.label),
        ("label/scores.py", "Scores", "star_half", None, Permission.label),
        ("label/weights.py", "Aspect weights", "tune", "aspect_weights", Permission.label),
        ("label/adjudication.py", "Adjudication", "gavel", None, Permission.adjudicate),
        ("label/inbox.py", "Inbox", "inbox", None, Permission.label),
    ),
    "Results": (
        ("results/judges.py", "Judges", "verified", None, Permission.view),
        ("results/compare_runs.py", "Compare runs", "difference", None, Permission.view),
        ("results/biases.py", "Biases", "balance", None, Permission.view),
        ("results/causes.py", "Causes", "help_center", None, Permission.view),
        ("results/discussions.py", "Discussions", "question_answer", None, Permission.view),
        ("results/systems.py", "Systems", "leaderboard", None, Permission.view),
        ("results/agreement.py", "Agreement", "monitoring", None, Permission.view),
        ("results/alignment.py", "Alignment", "compare_arrows", None, Permission.view),
        ("results/critiques.py", "Critiques", "rate_review", None, Permission.view),
        ("results/peer_errors.py", "Peer errors", "rule", None, Permission.view),
        ("results/weights.py", "Weights", "scale", None, Permission.view),
        ("results/laboratory.py", "Weights laboratory", "science", None, Permission.view),
        ("results/published.py", "Published tables", "table_chart", None, Permission.view),
    ),
    "Setup": (
        ("setup/studies.py", "Studies", "folder_open", None, Permission.open),
        ("setup/annotators.py", "Annotators", "group", None, Permission.open),
        ("setup/inputs.py", "Inputs", "edit_document", None, Permission.edit),
        ("setup/runs.py", "Runs", "play_circle", None, Permission.run),
        ("setup/experiments.py", "Experiments", "science", None, Permission.run),
        ("setup/improve.py", "Improve a judge", "trending_up", "improve", Permission.edit),
        ("setup/access.py", "Access", "shield_person", None, Permission.manage),
        ("setup/audit.py", "Audit", "history", None, Permission.manage),
        ("setup/account.py", "Account", "person", None, Permission.open),
    ),
}
"""Section of the sidebar -> its pages."""


def permission_of(script: str) -> Permission:
    """Return the permission that the page of a script needs."""
    return next(entry[-1] for section in SECTIONS.values() for entry in section if entry[0] == script)
