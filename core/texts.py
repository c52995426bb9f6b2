"""Texts of screens in the visitor's language: gettext catalogues in core/locales, whose source text is English.

The language belongs to the context, which a request passes on to the threads that answer it. Streamlit draws pages in
threads without one: `elsewhere` states theirs. Commands and notebooks set none, so theirs is English. Babel extracts
and compiles the catalogues (`make texts`); reading them does not need it.
"""

import gettext
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

SOURCE = "en"
# Language -> its own name, and its separator of thousands.
LANGUAGES = {SOURCE: ("English", ","), "de": ("Deutsch", ".")}
FOLDER = Path(__file__).parent / "locales"
_language = ContextVar("language", default="")
# Returns the language of contexts for which none is set; empty for English.
elsewhere: Callable[[], str] = str


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    """Return the texts of a language; those of English are the source texts."""
    return gettext.translation("messages", FOLDER, [language], fallback=language == SOURCE)


@cache
def as_json(language: str) -> str:
    """Return the texts of a language for scripts: an object from the English text to the text, or to its forms."""
    found: dict[str, str | list[str]] = {}
    for key, text in vars(catalogue(language)).get("_catalog", {}).items():
        if isinstance(key, str):
            found[key] = text
        else:  # (text, number of the form)
            found[key[0]] = [*found.get(key[0], []), text]
    return json.dumps(found, ensure_ascii=False)


def language() -> str:
    """Return the code of the context's language, as in the attribute `lang`."""
    return _language.get() or elsewhere() or SOURCE


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Set the language of a context."""
    token = _language.set(code)
    try:
        yield
    finally:
        _language.reset(token)


def _(text: str, /, **values: object) -> str:
    """Return a text in the language of the context, with values in its named placeholders if any are given."""
    found = catalogue(language()).gettext(text)
    return found.format(**values) if values else found


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """Return the form of a text for a count, in the language of the context, with the count as its placeholder {n}."""
    return catalogue(language()).ngettext(one, many, count).format(n=number(count), **values)


def mark(text: str) -> str:
    """Return a constant unchanged: it is extracted here, and translated where it is shown."""
    return text


def number(value: int) -> str:
    """Return an integer with the separators of the context's language."""
    return f"{value:,}".replace(",", LANGUAGES[language()][1])
