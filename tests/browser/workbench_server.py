"""The workbench on a plain page, with the API of docs/workbench-api.md in memory: no Streamlit, no database.

`python -m tests.browser.workbench_server PORT`. Routes under `/test` set faults, read what is stored, and forget it.
"""

import asyncio
import copy
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from tests.browser import workbench_items as items

ROOT = Path(__file__).parents[2]
CSRF = "token-1"
OVERLAP = 5
Json = dict[str, Any]
GUIDELINES = """Prefer the response that **helps** the person who asked.

- A wrong fact counts more than a missing one.
- Length alone is no merit.

| case | decision |
|---|---|
| both wrong | Neither |
| one refuses | the other one |

Example: `2 + 2 = 5` is wrong, however polite it is."""


class Refused(Exception):
    """An action that is answered with `stale` or `rejected`."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Stack:
    undo: list[Json] = field(default_factory=list)
    redo: list[Json] = field(default_factory=list)


@dataclass
class Store:
    """What a database would hold."""

    tasks: dict[str, Json] = field(default_factory=dict)
    queues: dict[int, list[str]] = field(default_factory=dict)
    rows: list[Json] = field(default_factory=list)
    standing: dict[tuple[str, str], Json] = field(default_factory=dict)
    drafts: dict[tuple[str, str], Json] = field(default_factory=dict)
    marks: dict[tuple[str, str], Json] = field(default_factory=lambda: defaultdict(dict))
    claims: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seen: set[tuple[str, str]] = field(default_factory=set)
    answered: dict[tuple[str, str], dict[int, Json]] = field(default_factory=dict)
    stacks: dict[tuple[str, int], Stack] = field(default_factory=lambda: defaultdict(Stack))
    read: dict[str, int] = field(default_factory=dict)
    guidelines: Json = field(default_factory=lambda: {"version": 2, "format": "markdown", "text": GUIDELINES})
    entries: int = 0

    def queue(self, study: int) -> list[str]:
        if study not in self.queues:
            made = items.disagreements(study)
            self.tasks |= {one["id"]: one for one in made}
            self.queues[study] = [one["id"] for one in made]
        return self.queues[study]

    def task_of(self, target: str) -> Json:
        return next(one for one in self.tasks.values() if any(about["id"] == target for about in one["targets"]))

    def target(self, name: str) -> Json:
        return next(about for about in self.task_of(name)["targets"] if about["id"] == name)

    def version(self, who: str, target: str) -> str:
        own = [row["id"] for row in self.rows if row["annotator"] == who and row["target"] == target]
        return str(own[-1]) if own else "0"

    # ---- what is sent --------------------------------------------------------------------------------------------

    def shown(self, who: str, task: str) -> Json:
        """A task as one annotator may see it."""
        one = copy.deepcopy(self.tasks[task])
        marks = self.marks[who, task]
        claimed = "mine" if who in self.claims[task] else "full" if self.full(who, task) else "free"
        one |= {"flagged": marks.get("flag", False), "skipped": marks.get("skip", False), "note": marks.get("note", "")}
        one["claim"] = claimed
        for about in one["targets"]:
            key = (who, about["id"])
            standing = self.standing.get(key)
            about |= {"version": self.version(*key), "standing": standing, "draft": self.drafts.get(key)}
            about["reveal"] = items.reveal(one) if standing and key in self.seen else None
        return one

    def full(self, who: str, task: str) -> bool:
        return len(self.claims[task] - {who}) >= OVERLAP

    def finished(self, who: str, task: str) -> bool:
        if self.marks[who, task].get("skip"):
            return True
        return all((who, about["id"]) in self.standing for about in self.tasks[task]["targets"] if about["required"])

    def progress(self, who: str, study: int) -> Json:
        names = self.queue(study)
        required = [about["id"] for name in names for about in self.tasks[name]["targets"] if about["required"]]
        return {
            "labelled": sum((who, one) in self.standing for one in required),
            "total": len(required),
            "skipped": sum(bool(self.marks[who, name].get("skip")) for name in names),
            "flagged": sum(bool(self.marks[who, name].get("flag")) for name in names),
            "drafts": sum(person == who for person, _ in self.drafts),
        }

    def history(self, who: str, study: int, before: str | None = None) -> Json:
        stack = self.stacks[who, study]
        end = next((at for at, entry in enumerate(stack.undo) if entry["id"] == before), len(stack.undo))
        undo, redo = stack.undo[max(0, end - 20) : end], [] if before else stack.redo[-20:]
        tasks = list(dict.fromkeys(entry["task"] for entry in (*undo, *redo)))
        return {"undo": undo, "redo": redo, "tasks": [self.shown(who, one) for one in tasks], "more": end > 20}

    # ---- actions -------------------------------------------------------------------------------------------------

    def carry_out(self, who: str, study: int, body: Json) -> list[Json]:
        """The results of a request; raises KeyError if an earlier action is missing."""
        known = self.answered.get((who, body["client"]))
        last = max(known, default=0) if known is not None else 0
        if body["after"] > last and (known is not None or not body.get("first")):
            raise KeyError("sequence")
        results = self.answered.setdefault((who, body["client"]), {})
        shown = set(self.seen)
        for action in body["actions"]:
            if action["seq"] not in results:
                results[action["seq"]] = self.result(who, study, action, results, shown)
        return [results[action["seq"]] for action in body["actions"]]

    def result(self, who: str, study: int, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        carry = getattr(self, f"do_{action['type']}")
        try:
            done = carry(who, self.stacks[who, study], action, results, shown)
        except Refused as refused:
            target = action.get("target")
            stands = (
                {"version": self.version(who, target), "standing": self.standing.get((who, target))} if target else {}
            )
            return {"seq": action["seq"], "status": refused.status, "message": str(refused), **stands}
        return {"seq": action["seq"], "status": "accepted", **done}

    def must_be_current(self, who: str, action: Json, results: Json) -> None:
        base = action["base"]
        if base.startswith("#"):
            base = results.get(int(base[1:]), {}).get("version", "missing")
        if base != self.version(who, action["target"]):
            raise Refused("stale", "You answered this in another window.")

    def do_label(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        self.must_be_current(who, action, results)
        about, task = self.target(action["target"]), self.task_of(action["target"])
        self.must_hold(about, action["value"])
        key = (who, about["id"])
        before, after = self.standing.get(key), self.content(action)
        surplus = self.full(who, task["id"])
        if before is None or self.content(before) != after:
            self.row(who, action, after, blind=key not in shown, event="label")
            entry = self.push(stack, "label", action, before and self.content(before), after)
        else:
            entry = None
            self.drafts.pop(key, None)
        self.claims[task["id"]].add(who)
        self.marks[who, task["id"]]["skip"] = False
        return {
            "version": self.version(*key),
            "entry": entry,
            "claim": "full" if surplus else "mine",
            **({"status": "surplus"} if surplus else {}),
            **self.revealed(who, task, about, action),
        }

    def revealed(self, who: str, task: Json, about: Json, action: Json) -> Json:
        study = int(task["id"].split("-")[0][1:])
        if not RULES[study]["reveal"]:
            return {}
        self.seen.add((who, about["id"]))
        return {"reveal": items.reveal(task)}

    def must_hold(self, about: Json, value: Any) -> None:
        if "options" in about and not any(one["value"] == value for one in about["options"]):
            raise Refused("rejected", "This value is not on the scale.")

    def row(self, who: str, action: Json, after: Json | None, *, blind: bool, event: str) -> None:
        key = (who, action["target"])
        number = len(self.rows) + 1
        kept = {name: action.get(name) for name in ("seconds", "guidelines", "seq")}
        self.rows.append(
            {"id": number, "annotator": who, "target": action["target"], "event": event, "blind": blind}
            | (after or {"value": None})
            | kept
        )
        self.drafts.pop(key, None)
        if after is None:
            self.standing.pop(key, None)
        else:
            self.standing[key] = after | {"blind": blind}

    def content(self, given: Json) -> Json:
        return {name: given[name] for name in ("value", "reason", "evidence")}

    def push(self, stack: Stack, kind: str, action: Json, before: Any, after: Any) -> str:
        self.entries += 1
        name = f"e-{self.entries}"
        about = {"task": action["task"], "target": action.get("target", ""), "before": before, "after": after}
        stack.undo.append({"id": name, "type": kind, "seq": action["seq"], **about})
        stack.redo.clear()
        return name

    def do_draft(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        self.must_be_current(who, action, results)
        task = self.task_of(action["target"])["id"]
        self.drafts[who, action["target"]] = self.content(action)
        full = self.full(who, task)
        if not full:
            self.claims[task].add(who)
        return {"claim": "full" if full else "mine"}

    def do_skip(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        before = self.marks[who, action["task"]].get("skip", False)
        self.marks[who, action["task"]]["skip"] = action["on"]
        return {"entry": self.push(stack, "skip", action, {"on": before}, {"on": action["on"]})}

    def do_flag(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        self.marks[who, action["task"]]["flag"] = action["on"]
        return {}

    def do_note(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        self.marks[who, action["task"]]["note"] = action["text"]
        return {}

    def do_read(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        self.read[who] = action["guidelines"]
        return {}

    def do_undo(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        return self.reverse(who, stack.undo, stack.redo, action, results, "before")

    def do_redo(self, who: str, stack: Stack, action: Json, results: Json, shown: set[tuple[str, str]]) -> Json:
        return self.reverse(who, stack.redo, stack.undo, action, results, "after")

    def reverse(self, who: str, pops: list[Json], pushes: list[Json], action: Json, results: Json, side: str) -> Json:
        named = action["entry"]
        wanted = results.get(int(named[1:]), {}).get("entry") if named.startswith("#") else named
        if not pops or pops[-1]["id"] != wanted:
            raise Refused("stale", "This was undone or changed in another window.")
        entry = pops.pop()
        pushes.append(entry)
        about = {"task": entry["task"], "target": entry["target"], "seq": action["seq"]}
        if entry["type"] == "skip":
            self.marks[who, entry["task"]]["skip"] = entry[side]["on"]
            return {"entry": entry["id"]}
        self.row(who, about, entry[side], blind=(who, entry["target"]) not in self.seen, event=action["type"])
        return {"entry": entry["id"], "version": self.version(who, entry["target"]), "standing": entry[side]}


RULES: dict[int, Json] = {
    1: {"reveal": True, "evidence": True, "reason": "optional", "quick": False},
    2: {"reveal": False, "evidence": False, "reason": "none", "quick": True},
}


@dataclass
class Faults:
    """What goes wrong on purpose."""

    delay: float = 0.0
    drop_every: int = 0
    dry: bool = False
    posts: int = 0


class Dropped(Response):
    """A reply that breaks off: the request was carried out, and the browser does not learn of it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": False})


store = Store()
faults = Faults()


def failed(status: int, error: str, message: str) -> JSONResponse:
    return JSONResponse({"error": error, "message": message}, status)


def who_asks(request: Request) -> str:
    return request.cookies.get("annotator", "a-1")


def asked(request: Request) -> tuple[str, int]:
    return who_asks(request), int(request.query_params.get("study", 1))


async def refused(request: Request, body: Json) -> Response | None:
    """The reply to a request that may not be carried out."""
    if request.cookies.get("annotator") == "":
        return failed(401, "signed_out", "Your session has ended.")
    if request.headers.get("x-csrf-token") != CSRF:
        return failed(403, "csrf", "The token is outdated.")
    if body["annotator"] != who_asks(request):
        return failed(409, "other_annotator", "You are signed in as another annotator in this browser.")
    return None


async def session(request: Request) -> Response:
    who, study = asked(request)
    store.queue(study)
    return JSONResponse(
        {
            "csrf": CSRF,
            "annotator": {"key": who, "name": who.replace("a-", "annotator ")},
            "study": {"id": study, "name": "Helpfulness of assistants", "home": "/"},
            "kind": "disagreements",
            "title": "Disagreements",
            "rules": RULES[study],
            "guidelines": store.guidelines | {"read": store.read.get(who, 2)},
            "progress": store.progress(who, study),
            "history": store.history(who, study),
        }
    )


async def tasks(request: Request) -> Response:
    body = await request.json()
    if (stop := await refused(request, body)) is not None:
        return stop
    who, study = asked(request)
    tab, item = request.query_params.get("tab", "todo"), request.query_params.get("item")
    names = store.queue(study)
    if tab == "skipped":
        wanted = [one for one in names if store.marks[who, one].get("skip")]
    else:
        wanted = [one for one in names if not store.finished(who, one) and not store.full(who, one)]
    drafted = [store.task_of(target)["id"] for person, target in reversed(store.drafts) if person == who]
    first = [one for one in ([item] if item else []) + drafted if one in wanted or one == item]
    ordered = list(dict.fromkeys([*first, *wanted]))
    left = [one for one in ordered if one not in set(body["have"])]
    if faults.dry:
        return JSONResponse({"tasks": [], "complete": False, "progress": store.progress(who, study)})
    sent = [store.shown(who, one) for one in left[: body["count"]]]
    return JSONResponse({"tasks": sent, "complete": len(left) <= body["count"], "progress": store.progress(who, study)})


async def actions(request: Request) -> Response:
    body = await request.json()
    if (stop := await refused(request, body)) is not None:
        return stop
    who, study = asked(request)
    store.queue(study)
    try:
        results = store.carry_out(who, study, body)
    except KeyError:
        return failed(409, "sequence", "An earlier action is missing.")
    faults.posts += 1
    if faults.delay:
        await asyncio.sleep(faults.delay)
    if faults.drop_every and faults.posts % faults.drop_every == 0:
        return Dropped()
    reply: Json = {"results": results, "progress": store.progress(who, study)}
    known = max((action.get("guidelines") or 0 for action in body["actions"]), default=0)
    if store.guidelines["version"] > known:
        reply["guidelines"] = store.guidelines
    return JSONResponse(reply)


async def history(request: Request) -> Response:
    who, study = asked(request)
    return JSONResponse(store.history(who, study, request.query_params.get("before")))


async def presence(request: Request) -> Response:
    body = await request.json()
    if (stop := await refused(request, body)) is not None:
        return stop
    who = who_asks(request)
    for task, people in store.claims.items() if body["leaving"] else ():
        labelled = any((who, about["id"]) in store.standing for about in store.tasks[task]["targets"])
        if not labelled:
            people.discard(who)
    return JSONResponse({"claim": "mine"})


async def page(request: Request) -> Response:
    html = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Workbench</title>
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><style>body { margin: 0 }</style>
<script type="module" src="/assets/workbench/workbench.js"></script></head>
<body><main><h1 hidden>Workbench</h1><label-workbench></label-workbench></main></body></html>"""
    own = "script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' 'unsafe-inline'"
    policy = f"default-src 'none'; {own}"
    response = HTMLResponse(html, headers={"Content-Security-Policy": policy})
    if "as" in request.query_params:
        response.set_cookie("annotator", request.query_params["as"], httponly=True, samesite="lax")
    return response


async def test_stored(request: Request) -> Response:
    """Everything that is stored."""
    return JSONResponse(
        {
            "rows": store.rows,
            "drafts": [{"annotator": who, "target": target} | draft for (who, target), draft in store.drafts.items()],
            "marks": [{"annotator": who, "task": task} | marks for (who, task), marks in store.marks.items() if marks],
            "claims": {task: sorted(people) for task, people in store.claims.items() if people},
            "read": store.read,
        }
    )


async def test_faults(request: Request) -> Response:
    for name, value in (await request.json()).items():
        setattr(faults, name, value)
    return JSONResponse({})


async def test_guidelines(request: Request) -> Response:
    store.guidelines = {
        "version": store.guidelines["version"] + 1,
        "format": "markdown",
        "text": (await request.json())["text"],
    }
    return JSONResponse({})


async def test_others(request: Request) -> Response:
    """Other annotators complete a task."""
    store.claims[(await request.json())["task"]] |= {f"a-other-{number}" for number in range(OVERLAP)}
    return JSONResponse({})


async def test_reset(request: Request) -> Response:
    """Everything is as at the start."""
    vars(store).update(vars(Store()))
    vars(faults).update(vars(Faults()))
    return JSONResponse({})


app = Starlette(
    routes=[
        Route("/api/label/session", session),
        Route("/api/label/tasks", tasks, methods=["POST"]),
        Route("/api/label/actions", actions, methods=["POST"]),
        Route("/api/label/history", history),
        Route("/api/label/presence", presence, methods=["POST"]),
        Route("/test/stored", test_stored),
        Route("/test/faults", test_faults, methods=["POST"]),
        Route("/test/guidelines", test_guidelines, methods=["POST"]),
        Route("/test/others", test_others, methods=["POST"]),
        Route("/test/reset", test_reset, methods=["POST"]),
        Mount("/assets/workbench", StaticFiles(directory=ROOT / "pages" / "label" / "workbench")),
        Route("/", page),
    ]
)


def main() -> None:
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
