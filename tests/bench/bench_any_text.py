"""Any text is read or refused within 50 ms: python -m tests.bench.bench_any_text [TEXTS]

Every answer type reads generated texts of up to 100 kB: runs of a sign or word, mixtures of them, and joined replies of
the corpus. Shown is the slowest text of each type in processor time. A parser that raises anything but UnreadableReply,
or takes longer, ends the run with an error.
"""

import argparse
import contextlib
import time

from hypothesis import HealthCheck, Phase, given, settings

from core.answers import UnreadableReply
from tests.core.answers.replies import ANSWERS
from tests.core.answers.test_properties import TEXTS, seconds

SECONDS = 0.05
"""The limit of one text of up to 100 kB."""

TEXTS_READ = 10_000


def main(number: int) -> None:
    slowest = dict.fromkeys(ANSWERS, 0.0)
    sizes: list[int] = []

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(TEXTS)
    def read(text: str) -> None:
        sizes.append(len(text))
        for kind, declared in ANSWERS.items():
            start = time.process_time()
            with contextlib.suppress(UnreadableReply):
                declared["default"].parse(text)
            taken = time.process_time() - start
            if taken > SECONDS / 2:  # other programs run too: the better of two more runs counts
                taken = min(taken, seconds(declared["default"], text))
            slowest[kind] = max(slowest[kind], taken)
            assert taken < SECONDS, (kind, len(text), text[:60])

    read()
    print(f"{len(sizes)} texts, {sum(sizes) / len(sizes) / 1000:.0f} kB on average, {max(sizes) / 1000:.0f} kB at most")
    print("slowest, ms: " + ", ".join(f"{kind} {taken * 1000:.0f}" for kind, taken in slowest.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="?", type=int, default=TEXTS_READ, help=f"{TEXTS_READ} by default")
    main(parser.parse_args().texts)
