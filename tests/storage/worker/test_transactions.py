"""Changes of a worker that share transactions: their order, and errors that stay with the request that caused them."""

import asyncio

import pytest

from storage.worker._transactions import Operation, Order, Transactions


@pytest.fixture
def transactions(sqlite_engine):
    return Transactions(sqlite_engine)


def recording(order, applied, refused=None):
    """Return an operation that lists (order, requests, repeated) and refuses one request."""

    def apply(session, requests, repeated):
        applied.append((order, requests, repeated))
        if refused in requests:
            raise ValueError(refused)
        return [f"{request} stored" for request in requests]

    return Operation(order, apply)


def test_requests_that_wait_share_one_transaction_in_the_order_of_their_operations(transactions):
    applied = []
    events, ends = recording(Order.events, applied), recording(Order.calls_end, applied)

    async def submit():
        return await asyncio.gather(*(transactions.submit(one, n) for n, one in enumerate((events, ends, events))))

    assert asyncio.run(submit()) == ["0 stored", "1 stored", "2 stored"]
    assert applied == [(Order.calls_end, [1], False), (Order.events, [0, 2], False)]


def test_calls_that_wait_to_be_sent_have_a_transaction_of_their_own_before_the_others(transactions):
    applied = []
    events, begins = recording(Order.events, applied), recording(Order.calls_begin, applied)

    async def submit():
        await asyncio.gather(transactions.submit(events, 1), transactions.submit(begins, 2))

    asyncio.run(submit())
    assert applied == [(Order.calls_begin, [2], False), (Order.events, [1], False)]


def test_a_request_that_cannot_be_stored_does_not_fail_the_others(transactions):
    applied = []
    events = recording(Order.events, applied, refused="b")

    async def submit():
        return await asyncio.gather(*(transactions.submit(events, name) for name in "abc"), return_exceptions=True)

    first, refused, last = asyncio.run(submit())
    assert (first, last) == ("a stored", "c stored")
    assert isinstance(refused, ValueError)
    assert [requests for _, requests, _ in applied] == [["a", "b", "c"], ["a"], ["b"], ["c"]]
