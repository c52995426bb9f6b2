r"""Text for LaTeX: every character is a command, plain ASCII, or an argument of `\unicodetext`.

pdfTeX stops at characters that its fonts do not have, such as those of other scripts and emoji. XeTeX and LuaTeX print
them if the document has a font for them, so their files keep them.
"""

import re
import unicodedata
from collections.abc import Sequence

DEFINITION = r"\providecommand{\unicodetext}[2]{\ifdefined\Umathchar#1\else#2\fi}"
r"""Defines `\unicodetext{characters}{their code points}`: XeTeX and LuaTeX print the first, pdfTeX the second."""
IGNORED = {"Cc", "Cf", "Cs"}
"""Categories without a visible sign: control characters, marks of direction, halves of characters."""
GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
)  # fmt: skip
"""Without the capitals that look like a Latin letter."""
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip


def _greek_letter(name: str) -> str:
    """Return the letter with the name of its LaTeX command, such as `Lambda`."""
    size = "small" if name.islower() else "capital"
    return unicodedata.lookup(f"Greek {size} letter {name.lower().replace('lambda', 'lamda')}")


COMMANDS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "…": r"\dots{}"},
    **{"\u2010": "-", "\u2011": "-", "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "„": ",,"},
    **{"±": r"$\pm$", "−": "$-$", "×": r"$\times$", "÷": r"$\div$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$"},
    **{"≈": r"$\approx$", "∞": r"$\infty$", "→": r"$\to$", "←": r"$\leftarrow$", "↔": r"$\leftrightarrow$"},
    **{"·": r"$\cdot$", "•": r"\textbullet{}", "°": r"$^\circ$", "²": "$^2$", "³": "$^3$", "µ": r"$\mu$"},
    **{"«": r"$\ll$", "»": r"$\gg$", "¡": "!`", "¿": "?`", "§": r"\S{}", "£": r"\pounds{}"},
    **{"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}"},
    **{"ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}"},
    **{_greek_letter(name): f"$\\{name}$" for name in GREEK},
    "ε": r"$\varepsilon$",
}
"""Character -> its command in the encoding OT1, which a document has without a package."""


def escape_latex(text: str) -> str:
    r"""Return text on one line in which no character is a LaTeX command, and which pdfTeX can print.

    Characters that have no command are arguments of `\unicodetext`, which DEFINITION defines.
    """
    visible = (sign for sign in " ".join(text.split()) if unicodedata.category(sign) not in IGNORED)
    composed = unicodedata.normalize("NFC", "".join(visible))
    return re.sub(r"[^\x00-\x7f]+", _without_command, "".join(_command(sign) or sign for sign in composed))


def _command(sign: str) -> str:
    """Return the command of a character, "" if it needs or has none."""
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if sign in COMMANDS or not accents or not base.isascii() or any(accent not in ACCENTS for accent in accents):
        return COMMANDS.get(sign, "")
    return _accented(base, accents)


def _accented(base: str, accents: Sequence[str]) -> str:
    for accent in accents:
        base = f"\\{ACCENTS[accent]}{{{base}}}"
    return base


def _without_command(found: re.Match[str]) -> str:
    codes = " ".join(f"U+{ord(sign):04X}" for sign in found[0])
    return f"\\unicodetext{{{found[0]}}}{{{codes}}}"
