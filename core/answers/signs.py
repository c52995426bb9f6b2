"""Signs and digits of any script as ASCII, character by character."""

import re


def _table() -> dict[int, str]:
    """Return the characters that have one plain counterpart."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "！？；"}
    digits = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50)
    table |= {start + digit: str(digit) for start in digits for digit in range(10)}
    table |= {ord("①") + digit: str(digit + 1) for digit in range(9)}
    for plain, signs in {
        '"': "“”„‟«»「」『』″❝❞",
        "'": "‘’‚‛′´",
        "-": "−‐‑‒﹣",
        ",": "、،﹐",
        ":": "∶꞉﹕",
        "%": "٪﹪",
        "[": "【〔［",
        "]": "】〕］",
        "<": "〈《",
        ">": "〉》",
        "i": "İ",
        "~": "～〜∼",
        " ": (
            "\u00a0\u2002\u2003\u2007\u2009\u200a\u200b\u200c\u200d\u202f\u2060\u3000\ufeff\ufe0f\u20e3"
            "\r\t\v\f\u200e\u200f"
        ),
        "\n": "\u2028\u2029\x85",
    }.items():
        table |= {ord(sign): plain for sign in signs}
    return table


_PLAIN = _table()


def readable(text: str) -> str:
    """Return a text of the same length with plain signs and digits."""
    return text.translate(_PLAIN)


def squash(text: str) -> str:
    """Return only the words, in lower case, for comparing names."""
    return " ".join(re.findall(r"\w+", readable(text).replace("_", " ").lower()))
