"""Whoever answers an ask: a model behind litellm, a local one, or a script that stands in for both."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, Protocol

from core.frozen import Frozen
from core.trace import Ask, Usage

Finish = Literal["stop", "cut off", "refused"]


class Reply(Frozen):
    """What a model said, and how it came to an end."""

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()


class Model(Protocol):
    """Anything that answers; raises Temporary or Permanent when it cannot."""

    async def ask(self, ask: Ask) -> Reply: ...


Answer = Reply | str
Script = Callable[[Ask], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Answers from a function of the ask, or from a list in order; `asked` holds every ask it saw.

    ScriptedModel(lambda ask: "1" if ask.speaker == "ann" else "2")
    """

    def __init__(self, answers: Script | Iterable[Answer | Exception]) -> None:
        self._script = answers if callable(answers) else _reader(answers)
        self.asked: list[Ask] = []

    async def ask(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        answer = self._script(ask)
        if inspect.isawaitable(answer):
            answer = await answer
        return answer if isinstance(answer, Reply) else Reply(text=answer)


def _reader(answers: Iterable[Answer | Exception]) -> Script:
    waiting = iter(answers)

    def following(ask: Ask) -> Answer:
        answer = next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return following
