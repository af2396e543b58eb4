"""Operations and retries are found by index, however many there are."""

from collections.abc import Callable
from typing import Any

import pytest

from collector.chaining import Chaining
from collector.settling import ATTEMPT_COLUMNS
from collector.statements import Plain
from tests.database import Database
from tests.plans import plan, whole_tables
from tests.retried import story
from tests.tables import sentences

NAME = f"{1:032x}-{1:016x}"


class Recorder:
    """A driver's connection that writes down what it is asked."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self.asked: list[tuple[str, Any]] = []

    def execute(self, sql: str, values: Any) -> Any:
        self.asked.append((sql, values))
        return self._driver.execute(sql, values)


@sentences(
    "ask",
    {
        "operations by name": lambda store: store.chains([NAME]),
        "retries of traces": lambda store: store.chains_of_retries([bytes(16)]),
        "lone failures of sessions that went on": lambda store: store.lone(True, {"s": 1, "t": 2}),
        "lone failures of sessions that did not": lambda store: store.lone(False, {"s": 1, "t": 2}),
        "the last call of a session": lambda store: store.latest_start("s", b""),
        "the last call of a trace": lambda store: store.latest_start(None, bytes(16)),
        "a call": lambda store: store.attempt((bytes(16), bytes(8))),
        "the retry before a time": lambda store: store.retry_before(NAME, 10**18),
        "the retries from a time on": lambda store: store.retries_from(NAME, 10**18),
        "their calls": lambda store: store.attempts_from(NAME, 10**18),
        "the minutes before a time": lambda store: store.minutes_before(NAME, 10**18),
        "operations that go": lambda store: store.remove_chains([NAME]),
    },
)
def test_it_is_found_by_index(database: Database, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Chaining], Any]) -> None:
    database.take(*story())
    with database.engine.begin() as connection:
        store = Chaining(connection, Plain(database.engine), ATTEMPT_COLUMNS)
        recorder = Recorder(connection.connection.driver_connection)
        monkeypatch.setattr(store, "_driver", recorder)
        ask(store)
    [(statement, values)] = recorder.asked
    how = plan(database.engine, statement, values)
    if database.engine.dialect.name == "postgresql":
        assert whole_tables(how) & {"call", "chain", "retry"} == set(), how
        return
    assert not [line for line in how.split("; ") if line.startswith(("SCAN call", "SCAN chain", "SCAN retry"))], how
    if "session = " in statement:
        assert "ix_call_session_start_ns" in how or "ix_chain_session_went_on_closes_ns" in how
