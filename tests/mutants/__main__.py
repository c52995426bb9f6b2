"""Mutation testing of the modules whose mistakes cost most: `python -m tests.mutants [module ...] [--sample 15]`.

Each mutant is one small change of one module's syntax tree. It is compiled in a forked process that imports it instead
of the file, and runs the test files of the module until one fails: files are never changed, and mutants of several
calls do not disturb each other. Processes that a test starts itself import the unchanged file.
"""

import ast
import copy
import importlib.util
import os
import random
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy  # noqa: F401  # imported once for all mutants
import pandas  # noqa: F401
import pytest
import sqlmodel  # noqa: F401
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LIMIT = 1_800
"""Seconds for the tests of an unchanged module. A mutant that takes five times as long as that is killed: it loops."""
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
UNITS = {"seconds": "minutes", "minutes": "seconds", "hours": "minutes", "days": "hours"}


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


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Yield where a node hangs: its parent, the field, and the place in a list. Annotations are left out."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield tree, name, place
                yield from places(child)


def mutants(source: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield every mutant of a module, with its line before and after."""
    tree = ast.parse(source)
    for parent, name, place in list(places(tree)):
        siblings: Any = getattr(parent, name)
        node = siblings if place is None else siblings[place]
        for changed in changes(node):
            changed = (
                ast.fix_missing_locations(ast.copy_location(changed, node)) if hasattr(node, "lineno") else changed
            )
            setattr(parent, name, changed if place is None else [*siblings[:place], changed, *siblings[place + 1 :]])
            title = f"{getattr(node, 'lineno', 0)}: {_text(node)}  ->  {_text(changed)}"
            yield title, copy.deepcopy(tree)
            setattr(parent, name, siblings)


def _text(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0][:90]


class Mutated(SourceFileLoader):
    """Imports one module from a tree; also the finder that is asked first."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.tree = tree

    def get_code(self, fullname: str) -> Any:
        return compile(self.tree, self.path, "exec")

    def find_spec(self, name: str, *_: Any) -> Any:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None


def survives(name: str, path: Path, tree: ast.Module, tests: Sequence[str], limit: float = LIMIT) -> bool:
    """Return whether all tests pass with the tree in the place of the module."""
    child = os.fork()
    if child:
        return _status(child, limit) == 0
    os.setpgid(0, 0)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.meta_path.insert(0, Mutated(name, path, tree))  # type: ignore[arg-type]
    code = pytest.main(["-x", "-q", "-n", "0", "--fast", "-p", "no:cacheprovider", *tests])
    os._exit(int(code))


def _status(child: int, limit: float) -> int:
    """Wait for a process; end it and those that it started after `limit` seconds."""
    ended, status, until = 0, 0, time.monotonic() + limit
    while not ended and time.monotonic() < until:
        time.sleep(0.05)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return status if ended else -1


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.mutants", description="Counts the mutants that the tests kill.")
    parser.add_argument("modules", nargs="*", help="parts of module paths; all of modules.yaml without one")
    parser.add_argument("--sample", type=int, default=15, help="mutants of each module, drawn at random; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    killed = total = 0
    for file, tests in yaml.safe_load((HERE / "modules.yaml").read_text()).items():
        if not any(part in file for part in options.modules or [""]):
            continue
        path, name = ROOT / file, file.removesuffix(".py").replace("/", ".")
        began = time.monotonic()
        if not survives(name, path, ast.parse(path.read_text()), tests):
            raise SystemExit(f"The tests of {file} fail without a mutation.")
        limit = 60 + 5 * (time.monotonic() - began)
        drawn = list(mutants(path.read_text()))
        if options.sample and options.sample < len(drawn):
            drawn = random.Random(options.seed).sample(drawn, options.sample)
        left = [title for title, tree in drawn if survives(name, path, tree, tests, limit)]
        print(f"{file}: {len(drawn) - len(left)} of {len(drawn)} killed", *left, sep="\n    ", flush=True)
        killed, total = killed + len(drawn) - len(left), total + len(drawn)
    print(f"{killed} of {total} killed, {killed / max(total, 1):.0%}")


if __name__ == "__main__":
    main()
