"""The forms of replies about aspects, in llama.cpp's GBNF: the local model alone is held to them."""

REASONS = r'[^\n]{40,400} "\n\n" '


def aspects(count: int) -> str:
    """A numbered list of so many lines."""
    lines = " ".join(f'"{"" if n == 1 else chr(92) + "n"}{n}. " line' for n in range(1, count + 1))
    return f"root ::= {lines}\nline ::= [A-Z] [a-z ,]{{10,80}} [?]"


def weights(count: int) -> str:
    """So many percentages on one line."""
    return f"root ::= {_row('weight', count)}\nweight ::= [1-9] [0-9]? [%]"


def scores(count: int, lowest: int, highest: int, *, reasons: bool = False) -> str:
    """So many scores on one line, perhaps after an explanation."""
    values = " | ".join(f'"{value}"' for value in range(lowest, highest + 1))
    return f"root ::= {REASONS if reasons else ''}{_row('score', count)}\nscore ::= {values}"


def _row(what: str, count: int) -> str:
    return ' " " '.join([what] * count)
