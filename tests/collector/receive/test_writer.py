"""The contract of the writer, over a store that blocks until the test lets it go."""

import pytest
from sqlalchemy.exc import DataError, IntegrityError, OperationalError

from collector.receive.failures import ShuttingDown, StorageFailed, Unstorable
from collector.receive.writer import Writer
from schemas.spans import Decoded, ToolSpan
from tests.collector.receive.conftest import HeldStore

SPAN = ToolSpan(b"t", b"s", None, 1, 2, 3, 2, 0, "n", "svc", "", "", "", "{}", 1, 1)


def request(spans: int = 1, mark: int = 0) -> Decoded:
    return Decoded(mark or spans, (SPAN,) * spans, (), (), ())


def operational(text: str) -> OperationalError:
    return OperationalError("INSERT", {"secret": "hunter2"}, Exception(text))


@pytest.fixture
def writer(store: HeldStore):
    writer = Writer(store.insert, lambda: 7, group_spans=10)
    yield writer
    store.release()
    writer.close()


def test_nothing_is_answered_before_its_commit(writer, store):
    store.hold()
    answer = writer.submit(request())
    store.wait_until_entered()
    assert not answer.done()
    store.release()
    assert answer.result(20) is None


def test_requests_that_wait_share_one_transaction(writer, store):
    store.hold()
    first = writer.submit(request(mark=1))
    store.wait_until_entered()
    rest = [writer.submit(request(mark=mark)) for mark in (2, 3, 4)]
    store.release()
    for answer in (first, *rest):
        answer.result(20)
    assert [[one.received for one in group] for group in store.groups] == [[1], [2, 3, 4]]


def test_a_group_is_bounded_and_a_request_above_the_bound_goes_alone(writer, store):
    store.hold()
    first = writer.submit(request())
    store.wait_until_entered()
    rest = [writer.submit(request(spans)) for spans in (4, 4, 4, 50, 1)]
    store.release()
    for answer in (first, *rest):
        answer.result(20)
    assert [[one.received for one in group] for group in store.groups] == [[1], [4, 4], [4], [50], [1]]


@pytest.mark.parametrize("text", ["database is locked", "database or disk is full", "server closed the connection"])
def test_a_database_that_is_away_fails_all_of_the_group_and_none_is_stored(writer, store, text):
    store.hold()
    first = writer.submit(request())
    store.wait_until_entered()
    rest = [writer.submit(request()) for _ in range(3)]
    store.failures = [operational(text)] * 2
    store.release()
    for answer in (first, *rest):
        with pytest.raises(StorageFailed, match=text):
            answer.result(20)
    assert store.groups == []
    assert writer.submit(request()).result(20) is None


@pytest.mark.parametrize(
    "error",
    [
        DataError("INSERT", {}, Exception("NUL byte")),
        IntegrityError("INSERT", {}, Exception("NOT NULL")),
        OverflowError("Python int too large to convert to SQLite INTEGER"),
    ],
    ids=["a data error", "an integrity error", "an error of the driver"],
)
def test_the_neighbours_of_a_request_that_the_database_refuses_are_stored(writer, store, error):
    store.refuses = lambda batch: error if any(one.received == 666 for one in batch) else None
    store.hold()
    first = writer.submit(request(mark=1))
    store.wait_until_entered()
    good, bad, also_good = (writer.submit(request(mark=mark)) for mark in (2, 666, 3))
    store.release()
    for answer in (first, good, also_good):
        answer.result(20)
    with pytest.raises(Unstorable):
        bad.result(20)
    assert [one.received for one in store.requests] == [1, 2, 3]


def test_close_writes_what_was_accepted_and_takes_nothing_more(store):
    writer = Writer(store.insert, lambda: 7)
    store.hold()
    answers = [writer.submit(request()) for _ in range(3)]
    store.wait_until_entered()
    store.release()
    writer.close()
    writer.close()
    assert [answer.result(0) for answer in answers] == [None] * 3
    assert len(store.requests) == 3
    with pytest.raises(ShuttingDown):
        writer.submit(request())


def test_a_waiter_that_goes_away_does_not_take_its_request_out(writer, store):
    store.hold()
    answer = writer.submit(request())
    assert not answer.cancel()
    store.release()
    answer.result(20)
    assert len(store.requests) == 1


def test_the_log_tells_a_trouble_once_and_its_end_and_quotes_no_data(writer, store, caplog):
    caplog.set_level("INFO")
    store.failures = [operational("database is locked")] * 3
    for _ in range(3):
        with pytest.raises(StorageFailed):
            writer.submit(request()).result(20)
    writer.submit(request()).result(20)
    store.failures = [DataError("INSERT", {"secret": "hunter2"}, Exception("invalid text hunter2"))]
    with pytest.raises(Unstorable):
        writer.submit(request()).result(20)
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "the database does not take spans",
        "the database takes spans again",
        "the database refuses data of a request: DataError",
    ]
    assert "hunter2" not in caplog.text
