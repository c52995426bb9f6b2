"""Mutation testing of the modules whose mistakes cost most: `python -m tests.mutants [module ...] [--sample 30]`.

Each mutant is one small change of one module's syntax tree. A process that is forked after the collection of the tests
gives the module's functions the changed code, and runs the tests that execute the changed statement until one fails.
A mutant outside of functions is imported instead of the file, by a process that collects the tests again. Files are
never changed. Processes that a test starts itself import the unchanged file.
"""

import ast
import gc
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from itertools import takewhile, zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LIMIT = 10
"""Seconds of a test besides five times its usual time. A mutant that makes it take longer is killed: it loops."""
CONTEXT = 40
"""Characters of a statement that are shown on each side of a change."""
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
UNITS = {"seconds": "minutes", "minutes": "seconds", "hours": "minutes", "days": "hours"}


@dataclass(frozen=True)
class Mutant:
    """One change of a module."""

    path: Path
    line: int
    name: str
    """The function and the change within its statement: `is_active: row.until > at => row.until >= at`."""
    tree: ast.Module
    """The unchanged module: all of its mutants share it."""
    place: tuple[ast.AST, str]
    value: Any
    """The parent and the field that change, and the new value."""
    lines: range | None
    """The lines of its statement; None if all tests depend on it: it is executed at import, or its result is cached."""
    is_inside: bool
    """Whether it is inside of a function."""

    def code(self) -> CodeType:
        """Change the tree, and return its code. To be called once, in a process of its own."""
        setattr(*self.place, self.value)
        return compile(self.tree, str(self.path), "exec")


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield copies of a node, each with one change."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            yield _with(node, ops=[*node.ops[:place], SWAPPED[type(operator)](), *node.ops[place + 1 :]])
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED and not _is_text(node):
        yield _with(node, op=SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield _with(node, value=not node.value if isinstance(node.value, bool) else node.value + 1)
    else:
        yield from _removals(node)


def _removals(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.keyword(arg=str(name)) if name in UNITS:
            yield _with(node, arg=UNITS[name])
        case ast.If() | ast.IfExp():
            yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield ast.Pass()


def _is_text(node: ast.AST) -> bool:
    return isinstance(getattr(node, "op", None), ast.Add) and "'" in ast.unparse(node)


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


Place = tuple[ast.AST, str, int | None]
"""A parent, its field, and the place in a list: where a node hangs."""


def places(tree: ast.AST, above: tuple[Place, ...] = ()) -> Iterator[tuple[Place, ...]]:
    """Yield the way from the module to every node, without annotations and other nodes that have no effect."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _has_no_effect(tree, child):
                way = (*above, (tree, name, place))
                yield way
                yield from places(child, way)


def _has_no_effect(parent: ast.AST, node: ast.AST) -> bool:
    """Return whether a node imports what annotations need, or states that the iterables of `zip` are equally long."""
    match parent, node:
        case (_, ast.If(test=ast.Name(id="TYPE_CHECKING"))) | (ast.Call(func=ast.Name(id="zip")), ast.keyword()):
            return True
    return False


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    tree = ast.parse(path.read_text())
    for way in list(places(tree)):
        parent, name, place = way[-1]
        siblings: Any = getattr(parent, name)
        node = siblings if place is None else siblings[place]
        within = [*(parent for parent, _, _ in way), node]
        statement = next(i for i in range(len(within) - 1, -1, -1) if isinstance(within[i], ast.stmt | ast.Module))
        before, lines = _text(within[statement]), _lines(within[: statement + 1])
        is_inside = any(isinstance(part, ast.FunctionDef) for part in within[:statement])
        for changed in changes(node):
            if hasattr(node, "lineno"):
                changed = ast.fix_missing_locations(ast.copy_location(changed, node))
            value = changed if place is None else [*siblings[:place], changed, *siblings[place + 1 :]]
            setattr(parent, name, value)
            after = _text(changed if within[statement] is node else within[statement])
            functions = ".".join(part.name for part in within if isinstance(part, ast.FunctionDef | ast.ClassDef))
            title = f"{functions}: {_difference(before, after)}"
            setattr(parent, name, siblings)
            yield Mutant(path, getattr(node, "lineno", 0), title, tree, (parent, name), value, lines, is_inside)


def _text(statement: ast.AST) -> str:
    """Return a statement, without its body if it has one."""
    if not hasattr(statement, "body"):
        return ast.unparse(statement)
    empty: dict[str, Any] = {"orelse": []} if hasattr(statement, "orelse") else {}
    return ast.unparse(ast.copy_location(_with(statement, body=[], **empty), statement))


def _difference(before: str, after: str) -> str:
    """Return both texts without what they have in common far from the change."""
    start = _common(before, after)
    rest = _common(before[start:][::-1], after[start:][::-1])
    parts = (text[max(start - CONTEXT, 0) : len(text) - max(rest - CONTEXT, 0)] for text in (before, after))
    return " ".join("  =>  ".join(parts).split())


def _common(first: str, second: str) -> int:
    """Return how many characters at their beginning two texts have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _lines(within: Sequence[ast.AST]) -> range | None:
    """Return the lines of the last statement, without its body."""
    statement: Any = within[-1]
    functions = [part for part in within[:-1] if isinstance(part, ast.FunctionDef)]
    cached = any("cache" in ast.unparse(decorator) for part in functions for decorator in part.decorator_list)
    if cached or not functions:
        return None
    body = getattr(statement, "body", None)
    return range(statement.lineno, max(body[0].lineno, statement.lineno + 1) if body else statement.end_lineno + 1)


class Mutated(SourceFileLoader):
    """Imports a mutant in the place of its module; also the finder that is asked first."""

    def __init__(self, mutant: Mutant) -> None:
        file = str(mutant.path.relative_to(ROOT))
        super().__init__(file.removesuffix(".py").replace("/", "."), str(mutant.path))
        self.mutant = mutant

    def get_code(self, fullname: str) -> Any:
        return self.mutant.code()

    def find_spec(self, name: str, *_: Any) -> Any:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None


def python_functions() -> list[FunctionType]:
    """Return all functions, also those that are wrapped."""
    gc.unfreeze()  # frozen objects are not listed
    listed = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
    gc.freeze()
    return listed


def patch(functions: Sequence[FunctionType], mutant: Mutant) -> bool:
    """Give a module's functions the code of a mutant; return whether that could be done."""
    pending = [mutant.code()]
    codes = {}
    while pending:
        code = pending.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    for function in functions:
        old = function.__code__
        if old.co_filename != str(mutant.path):
            continue
        new = codes.get((old.co_qualname, old.co_firstlineno), old)
        if new.co_freevars != old.co_freevars:
            return False
        function.__code__ = new
    return True


class Loop:
    """A plugin of pytest: runs the tests in processes that are forked after the collection, one for each mutant."""

    def __init__(self, results: Path, drawn: Sequence[Mutant]) -> None:
        self.results, self.drawn = results, drawn
        self.functions: list[FunctionType] = []

    def pytest_configure(self) -> None:
        from hypothesis import settings  # a plugin of pytest, which has to be imported by pytest first

        settings.load_profile("fast")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = filter(_is_quick, items)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if forked(lambda: self._trace(session)):
            return True
        self.functions = python_functions()
        traced, seconds = json.loads(self.results.read_text())
        found: list[bool | None] = []
        for mutant in self.drawn:
            names = _executing(mutant, traced)
            items = [item for item in session.items if item.nodeid in names]
            items.sort(key=lambda item: seconds[item.nodeid])
            status = forked(partial(self._patched, session, items, mutant, seconds)) if mutant.is_inside else None
            found.append(None if status in (None, UNPATCHED) else status == 0)
        self.results.write_text(json.dumps([traced, seconds, found]))
        return True

    def _trace(self, session: pytest.Session) -> int:
        """Run all tests; write module -> line -> the names of the tests that execute it, and their times in seconds."""
        began: dict[str, float] = {}

        def start(name: str) -> None:
            tracer.switch_context(name)
            began[name] = time.monotonic()

        paths = sorted({str(mutant.path) for mutant in self.drawn})
        tracer = coverage.Coverage(data_file=None, include=paths, config_file=False)
        tracer.start()
        status = _run(session, session.items, start)
        tracer.stop()
        ends = [*list(began.values())[1:], time.monotonic()]
        seconds = {name: end - began[name] for name, end in zip(began, ends, strict=True)}
        traced = {path: tracer.get_data().contexts_by_lineno(path) for path in paths}
        self.results.write_text(json.dumps([traced, seconds]))
        return status

    def _patched(
        self, session: pytest.Session, items: Sequence[pytest.Item], mutant: Mutant, seconds: Mapping[str, float]
    ) -> int:
        def start(name: str) -> None:
            signal.alarm(LIMIT + int(5 * seconds[name]))  # ends the process

        return _run(session, items, start) if patch(self.functions, mutant) else UNPATCHED


UNPATCHED = 7
"""The status of a process that has to import the mutant in place of the module."""


def _is_quick(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return "postgres" not in item.name and "postgres" not in fixtures and not item.get_closest_marker("browser")


def _executing(mutant: Mutant, traced: Mapping[str, Mapping[str, list[str]]]) -> set[str]:
    """Return the names of the tests that execute the statement of a mutant."""
    names = traced[str(mutant.path)]
    lines = names if mutant.lines is None else map(str, mutant.lines)
    return {name for line in lines for name in names.get(line, ()) if name}


def _run(session: pytest.Session, items: Sequence[pytest.Item], started: Callable[[str], Any] = str) -> int:
    """Run tests until one fails."""
    for item, following in zip_longest(items, items[1:]):
        started(item.nodeid)
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def forked(work: Callable[[], int], limit: float = 3_600) -> int:
    """Return what `work` returns in a process of its own without output; -1 if it takes more than `limit` seconds."""
    child = os.fork()
    if child:
        return _status(child, limit)
    os.setpgid(0, 0)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    status = 1
    try:
        status = work()
    finally:
        os._exit(status)


def _status(child: int, limit: float) -> int:
    """Wait for a process; end it and those that it started after `limit` seconds."""
    ended, status, until = 0, 0, time.monotonic() + limit
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
        ended, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a test has started goes on otherwise
    if not ended:
        os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else -1


def _pytest(tests: Sequence[str], *plugins: Any) -> int:
    return int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests], plugins=plugins))


def survivors(tests: Sequence[str], drawn: Sequence[Mutant]) -> list[tuple[Mutant, bool]]:
    """Return the mutants that no test notices, and whether a test executes them."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        forked(lambda: _pytest(tests, Loop(results, drawn)))
        read = json.loads(results.read_text()) if results.exists() else None
    if read is None or len(read) < 3:
        raise SystemExit(f"Some of these tests fail without a mutation: {', '.join(tests)}")
    traced, seconds, found = read
    limit = 60 + 5 * sum(seconds.values())
    left = []
    for mutant, survived in zip(drawn, found, strict=True):
        names = sorted(_executing(mutant, traced))

        def imported(mutant: Mutant = mutant, names: Sequence[str] = names) -> int:
            sys.meta_path.insert(0, Mutated(mutant))
            return _pytest(names)

        if not names or survived or (survived is None and forked(imported, limit) == 0):
            left.append((mutant, bool(names)))
    return left


def measure(files: Sequence[str], tests: Sequence[str], sample: int, seed: int) -> tuple[int, int, int]:
    """Print the survivors of modules that are not known; return the numbers of mutants, killed and known ones."""
    listed = yaml.safe_load((HERE / "survivors.yaml").read_text())
    known_of = {file: {entry["mutant"] for entry in listed.get(file, ())} for file in files}
    drawn = []
    for file in files:
        every = list(mutants(ROOT / file))
        for gone in known_of[file] - {mutant.name for mutant in every}:
            print(f"{file}: not a mutant any more: {gone}")
        drawn += random.Random(seed).sample(every, sample) if 0 < sample < len(every) else every
    left, excused = survivors(tests, drawn), 0
    for file in files:
        known, number = known_of[file], sum(mutant.path == ROOT / file for mutant in drawn)
        own = [(mutant, is_executed) for mutant, is_executed in left if mutant.path == ROOT / file]
        new = [pair for pair in own if pair[0].name not in known]
        print(f"{file}: {number - len(own)} of {number} killed, {len(own) - len(new)} known survivors", flush=True)
        for mutant, is_executed in new:
            print(f"    {mutant.line}: {mutant.name}{'' if is_executed else '   (no test executes it)'}", flush=True)
        excused += len(own) - len(new)
    return len(drawn), len(drawn) - len(left), excused


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.mutants", description="Counts the mutants that the tests kill.")
    parser.add_argument("modules", nargs="*", help="parts of module paths; all of modules.yaml without one")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each module, drawn at random; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.chdir(ROOT)
    counts = []
    for group in yaml.safe_load((HERE / "modules.yaml").read_text()):
        files = [file for file in group["modules"] if any(part in file for part in options.modules or [""])]
        if files:
            counts.append(measure(files, group["tests"], options.sample, options.seed))
    total, killed, excused = map(sum, zip(*counts, strict=True))
    print(f"{killed} of {total} killed, {killed / max(total, 1):.0%}; {excused} known survivors")


if __name__ == "__main__":
    main()
