"""Rankings of an item's responses, which become a preference for each pair of them."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.blocks import Ranking
from core.formats.mapping.cells import is_empty, parse_list, parse_number
from core.formats.mapping.scope import Scope
from core.formats.validation_errors import quote_value


def ranked_pairs(scope: Scope, ranking: Ranking) -> Iterator[tuple[str, int]]:
    """Yield (part, preference) of each pair of ranked responses: 1, 2, or 0 for equal ranks.

    The part of the only pair of two responses is "", otherwise "1-3". Responses without a rank are left out. Raises
    FileFormatError if there are not as many ranks as responses.
    """
    ranks = [_rank(cell, scope, field) for cell, field in _cells(scope, ranking)]
    if len(ranks) != len(scope.systems):
        message = f"expected a rank for each of {len(scope.systems)} responses, not {len(ranks)}"
        raise FileFormatError(message, line=scope.line, field=str(ranking.of or ranking.ranks))
    for first, second in combinations(range(len(ranks)), 2):
        ours, theirs = ranks[first], ranks[second]
        if ours is not None and theirs is not None:
            is_first = (ours > theirs) == ranking.higher_is_better
            part = "" if len(ranks) == 2 else f"{first + 1}-{second + 1}"
            yield part, 0 if ours == theirs else 1 if is_first else 2


def _cells(scope: Scope, ranking: Ranking) -> list[tuple[Any, str]]:
    """Return the cell of each response's rank, and its field."""
    if isinstance(ranking.ranks, tuple):
        return [(scope.get(field), field) for field in ranking.ranks]
    field = ranking.ranks
    if ranking.of is not None:
        return [(element.get(field), field) for element in scope.elements(ranking.of)]
    return [(cell, field) for cell in parse_list(scope.get(field), scope.line, field)]


def _rank(cell: Any, scope: Scope, field: str) -> float | None:
    if is_empty(cell):
        return None
    number = parse_number(cell, scope.line, field)
    if number is None:
        raise FileFormatError(f"expected a rank, not {quote_value(cell)}", line=scope.line, field=field)
    return float(number)
