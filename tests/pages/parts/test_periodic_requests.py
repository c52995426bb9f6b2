"""A periodic request of a page is passed on only when no run of the page is in progress."""

import asyncio

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import app
from pages.parts import sockets
from pages.parts.sockets import LIMIT, PeriodicRequestFilter

PERIODIC = BackMsg(rerun_script={"fragment_id": "watch", "is_auto_rerun": True})
CHOICE = BackMsg(rerun_script={"fragment_id": "choice"})
WHOLE = BackMsg(rerun_script={"query_string": "study=Essays"})


def begin(*fragments):
    message = ForwardMsg()
    message.metadata.run.fragment_ids.extend(fragments)
    message.new_session.SetInParent()
    return message


def end(status="FINISHED_SUCCESSFULLY"):
    return ForwardMsg(script_finished=ForwardMsg.ScriptFinishedStatus.Value(status))


FRAGMENT_END = end("FINISHED_FRAGMENT_RUN_SUCCESSFULLY")


class Sockets:
    """The two directions of a socket, one message at a time."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(sockets.time, "monotonic", lambda: self.now)

    def passed_on(self, *messages):
        """Return the messages of the browser that reach Streamlit, which sends the others to the browser."""
        received, sent = [], []

        async def streamlit(scope, receive, send):
            for message in messages:
                if isinstance(message, ForwardMsg):
                    await send({"type": "websocket.send", "bytes": message.SerializeToString()})
                elif isinstance(message, BackMsg):
                    waiting.append({"type": "websocket.receive", "bytes": message.SerializeToString()})
                    waiting.append({"type": "websocket.receive", "text": "next"})
                    while "bytes" in (one := await receive()):
                        received.append(BackMsg.FromString(one["bytes"]))
                else:
                    self.now += message

        waiting = []

        async def receive():
            return waiting.pop(0)

        async def send(message):
            sent.append(ForwardMsg.FromString(message["bytes"]))

        asyncio.run(PeriodicRequestFilter(streamlit)({"type": "websocket"}, receive, send))
        assert sent == [message for message in messages if isinstance(message, ForwardMsg)]
        return received


def test_a_periodic_request_after_the_end_of_a_run_is_passed_on(monkeypatch):
    messages = (WHOLE, begin(), end(), PERIODIC, begin("watch"), FRAGMENT_END, PERIODIC)
    assert Sockets(monkeypatch).passed_on(*messages) == [WHOLE, PERIODIC, PERIODIC]


def test_a_periodic_request_during_a_run_is_not(monkeypatch):
    sockets = Sockets(monkeypatch)
    delta = ForwardMsg()
    delta.delta.new_element.markdown.body = "0.87"
    assert sockets.passed_on(WHOLE, PERIODIC) == [WHOLE]
    assert sockets.passed_on(begin(), delta, PERIODIC) == []
    assert sockets.passed_on(PERIODIC, PERIODIC, begin("watch"), PERIODIC) == [PERIODIC]


def test_a_rerun_is_part_of_the_run_before_it(monkeypatch):
    rerun = (PERIODIC, begin("watch"), end("FINISHED_EARLY_FOR_RERUN"))
    assert Sockets(monkeypatch).passed_on(*rerun, PERIODIC, begin(), PERIODIC, end(), PERIODIC) == [PERIODIC, PERIODIC]


def test_choices_are_always_passed_on(monkeypatch):
    stop = BackMsg(stop_script=True)
    assert Sockets(monkeypatch).passed_on(WHOLE, begin(), CHOICE, WHOLE, stop) == [WHOLE, CHOICE, WHOLE, stop]


def test_a_request_without_an_answer_delays_the_next_ones_for_a_limited_time(monkeypatch):
    messages = (PERIODIC, LIMIT - 0.5, PERIODIC, 1.0, PERIODIC, PERIODIC)
    assert Sockets(monkeypatch).passed_on(*messages) == [PERIODIC, PERIODIC]


def test_the_server_filters_sockets_and_passes_on_requests_without_one():
    seen = []

    async def reached(scope, receive, send):
        seen.append((receive, send))

    asyncio.run(PeriodicRequestFilter(reached)({"type": "http"}, None, None))
    assert seen == [(None, None)]
    assert PeriodicRequestFilter in [one.cls for one in app.app._user_middleware]
