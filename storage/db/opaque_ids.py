"""Ids of tasks and targets as browsers see them: without the study's key they reveal no item, order or count."""

import hashlib
from collections.abc import Iterable

ROUNDS = 4
# Bits in each half of the Feistel network.
HALF = 32
MASK = (1 << HALF) - 1
# Ids are below this number: a random text is decoded to a larger one in all but 1 of 65,536 cases.
LARGEST = 1 << 48
HEX_DIGITS = 2 * HALF // 4


class OpaqueIds:
    """A keyed permutation of 64-bit numbers, written as hexadecimal digits after a prefix."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret

    def encode(self, prefix: str, number: int) -> str:
        """Return the opaque id of a number, which may be negative."""
        return f"{prefix}-{self._permute(prefix, number % LARGEST, range(ROUNDS)):0{HEX_DIGITS}x}"

    def decode(self, prefix: str, text: str) -> int | None:
        """Return the number of an opaque id; None for any other text."""
        start, _, digits = text.partition("-")
        if start != prefix or len(digits) != HEX_DIGITS or not set(digits) <= set("0123456789abcdef"):
            return None
        swapped = int(digits, 16)
        halves = (swapped & MASK) << HALF | swapped >> HALF
        number = self._permute(prefix, halves, reversed(range(ROUNDS)))
        number = (number & MASK) << HALF | number >> HALF
        signed = number - LARGEST if number >= LARGEST // 2 else number
        return signed if number < LARGEST else None

    def digest(self, *parts: object) -> bytes:
        """Return a keyed digest: a random order that is the same after a restart, or a token."""
        text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self.secret, digest_size=16).digest()

    def csrf_token(self, annotator: str) -> str:
        """Return the token of the annotator's windows: only who could open the study has it."""
        return self.digest("csrf", annotator).hex()

    def _permute(self, prefix: str, number: int, rounds: Iterable[int]) -> int:
        left, right = number >> HALF, number & MASK
        for round_number in rounds:
            mixed = int.from_bytes(self.digest("id", prefix, round_number, right)[: HALF // 8])
            left, right = right, left ^ mixed
        return left << HALF | right
