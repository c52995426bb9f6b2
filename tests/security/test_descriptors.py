"""The server raises its limit of file descriptors, and reports errors without a free one once a minute."""

import errno
import logging
import resource

from core import logs
from pages.parts import sockets


def test_the_limit_is_raised_as_far_as_the_system_allows_it(monkeypatch):
    for before, expected in (((1024, 524_288), 65_536), ((1024, 4096), 4096), ((100_000, 100_000), None)):
        found = []
        monkeypatch.setattr(resource, "getrlimit", lambda _, before=before: before)
        monkeypatch.setattr(resource, "setrlimit", lambda _, limits, found=found: found.append(limits[0]))
        sockets.raise_limit()
        assert found == ([] if expected is None else [expected])


def test_errors_without_a_free_descriptor_are_one_line_a_minute(monkeypatch):
    passed = logs._RareDescriptorErrors()
    full, other = OSError(errno.EMFILE, "Too many open files"), OSError(errno.EPIPE, "Broken pipe")

    def lines(error, number):
        records = [
            logging.LogRecord("asyncio", logging.ERROR, "", 0, "accept", None, (OSError, error, None))
            for _ in range(number)
        ]
        return sum(map(passed.filter, records))

    monkeypatch.setattr(logs.time, "monotonic", lambda: 100.0)
    assert (lines(full, 1000), lines(other, 3)) == (1, 3)
    monkeypatch.setattr(logs.time, "monotonic", lambda: 161.0)
    assert lines(full, 1000) == 1
