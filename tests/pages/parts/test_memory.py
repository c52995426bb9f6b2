"""Return of freed memory to the system."""

import platform
from pathlib import Path

import pytest

from pages.parts import live

BLOCK, BLOCKS = 64 * 1024, 1600


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory")
def test_freed_memory_is_returned() -> None:
    blocks = [b"x" * BLOCK for _ in range(BLOCKS)]
    held = blocks[-1]  # at the end, so that the memory before it is not returned by itself
    blocks.clear()
    before = resident_bytes()
    live.release()
    assert len(held) == BLOCK
    assert before - resident_bytes() > BLOCK * BLOCKS / 2
