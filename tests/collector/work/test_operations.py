"""Operations and retries say what the calls say, whatever order they came in, and so do their counts."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import inspect, text

from collector.core.operations import Progress
from collector.pruning import PruneStore
from collector.work.retention import Retention
from schemas.database import MIGRATIONS, migrate
from schemas.rollups import DAY_NS
from tests import operations
from tests.database import Database, NewDatabase, engine_of, on_postgresql, on_sqlite
from tests.plans import statements_of
from tests.retried import attempts, story, stubborn
from tests.spans import NOW_NS, SECOND_NS, START_NS, tool_span


@pytest.fixture
def few_names(new_database: NewDatabase) -> Database:
    """A database that names one tool a day, and folds the others."""
    return new_database(names_a_day=1)


def nearly_in_order(spans: list[Any], data: st.DataObject) -> list[Any]:
    """Late by a few places at most."""
    late = data.draw(st.lists(st.integers(0, 3), min_size=len(spans), max_size=len(spans)))
    return [one for _, one in sorted(enumerate(spans), key=lambda pair: pair[0] + 1.5 * late[pair[0]])]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=80)
@given(attempts() | stubborn(), st.data())
def test_they_are_what_a_computation_from_scratch_gives(few_names: Database, given_spans: list[Any], data: st.DataObject) -> None:
    database = few_names
    database.empty()
    again = data.draw(st.lists(st.sampled_from(given_spans), max_size=3))
    arrivals = data.draw(st.permutations([*given_spans, *again])) if data.draw(st.booleans()) else nearly_in_order(given_spans, data)
    while arrivals:
        size = data.draw(st.integers(1, len(arrivals)))
        database.insert_together(arrivals[:size])
        arrivals = arrivals[size:]
        step = data.draw(st.sampled_from(["wait", "settle", "one trace", "all"]))
        if step == "settle":
            database.settler.settle(NOW_NS)
        elif step == "one trace":
            database.settler.settle(NOW_NS, limit=1)
            database.settler.roll_up(limit=1)
        elif step == "all":
            database.settle()
            operations.check(database)
    database.settle()
    operations.check(database)
    assert database.rows("SELECT * FROM refusal") == []


def everything(database: Database) -> Any:
    return operations.as_they_are(database)


def test_a_rebuild_gives_the_same_operations_retries_and_counts(database: Database) -> None:
    database.take(*story())
    before = everything(database)
    database.rebuild()
    assert everything(database) == before
    operations.check(database)


def test_a_rebuild_makes_what_is_missing(database: Database) -> None:
    database.take(*story())
    before = everything(database)
    with database.engine.begin() as connection:
        for table in ("chain", "retry"):
            connection.execute(text(f"DELETE FROM {table}"))
    database.rebuild()
    assert everything(database) == before


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'old.db'}"
    cluster = request.getfixturevalue("cluster")
    return str(cluster.url(cluster.create()))


@on_sqlite
def test_an_upgrade_makes_operations_and_counts_of_the_calls_that_are_there(database: Database, old_url: str) -> None:
    database.take(*story())
    engine = engine_of(old_url)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002_2026_11_30_lease")
        for table in ("tool_span", "ancestry", "call", "series", "rollup", "duration", "tool_name", "known_tool"):
            names = {column["name"] for column in inspect(connection).get_columns(table)}
            rows = [{name: row[name] for name in row if name in names} for row in database.rows(f"SELECT * FROM {table}")]
            rows = [row for row in rows if row.get("outcome") != ""]
            for row in rows:
                sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
                typed = {name: bool(value) if name in ("kept", "named", "failed", "retryable") else value for name, value in row.items()}
                connection.execute(text(sql), {name: None if row[name] is None else value for name, value in typed.items()})
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT setval('series_id_seq', (SELECT max(id) FROM series))"))
    migrate(engine)
    engine.dispose()
    upgraded = Database(old_url)
    assert upgraded.work.pending_count() > 0
    upgraded.settle()
    assert everything(upgraded) == everything(database)
    upgraded.close()


@on_postgresql
def test_workers_that_settle_the_same_sessions_at_once_miss_nothing_of_each_other(database: Database) -> None:
    chance = random.Random(5)
    spans = []
    for number in range(1, 601):
        failed = {"errorCategory": "transient"} if number % 5 else {}
        named = {"session.id": f"s{number % 4}", "gen_ai.tool.call.arguments": {"q": number % 2}} | failed
        # Some share a trace, so that operations go from one session to another, and none.
        shared = {} if number % 7 else {"trace": f"{900 + number % 3:032x}"}
        spans.append(tool_span("search", number, start=number / 4, seconds=0.1, attributes=named, **({"trace": f"{number:032x}"} | shared)))
    chance.shuffle(spans)

    def work(_: int) -> None:
        while database.settler.settle(NOW_NS, limit=20):
            pass

    for start in range(0, len(spans), 200):
        database.insert_together(spans[start : start + 200])
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, range(3)))
    database.settle()
    operations.check(database)


def test_an_unchanged_operation_is_written_no_more(database: Database) -> None:
    database.take(*story())
    database.insert(*story())
    with statements_of(database.engine) as seen:
        database.settle()
    changing = [statement for statement, _ in seen if not statement.startswith(("SELECT", "DELETE FROM pending"))]
    assert [one for one in changing if "chain" in one or "retry" in one] == []


def test_a_call_that_goes_well_asks_for_no_operation(database: Database) -> None:
    database.take(*story())
    database.insert(tool_span("search", 50, trace="e" * 32, start=300), tool_span("search", 51, trace="f" * 32, start=301))
    with statements_of(database.engine) as seen:
        database.settler.settle(NOW_NS)
    assert [statement for statement, _ in seen if "FROM chain" in statement or "FROM retry" in statement] == []


def test_a_long_operation_is_gone_on_with_and_not_gone_through(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": 1}, "errorCategory": "transient"}
    calls = [tool_span("search", number, trace=f"{number:032x}", start=number, attributes=named) for number in range(1, 200)]
    database.insert_together(calls[:150])
    database.settle()
    read: list[int] = []
    followed = Progress.follow
    monkeypatch.setattr(Progress, "follow", lambda self, attempt: (read.append(attempt.start_ns), followed(self, attempt))[1])
    for late in (calls[150], calls[152], calls[151]):
        database.insert(late)
        database.settler.settle(NOW_NS)
    # The last came before one that was there already.
    assert len(read) == 4
    monkeypatch.undo()
    database.settle()
    operations.check(database)


def prune(database: Database, now_ns: int) -> None:
    worker = Retention(database.work, PruneStore(database.engine), database.settings, lambda: 0.0, lambda _: None)
    while worker.step(now_ns) is not None:
        pass


def test_operations_go_with_the_last_of_their_calls_and_what_was_counted_stays(database: Database) -> None:
    database.take(*story())
    [kept] = database.rows("SELECT * FROM chain WHERE attempts = 6")
    counts = operations.as_they_are(database)[2]
    # The horizon lies on a quarter of an hour: between the first call and the last of none of these.
    prune(database, START_NS - START_NS % (900 * SECOND_NS) + 30 * DAY_NS)
    assert database.rows("SELECT * FROM chain WHERE attempts = 6") == [kept]
    prune(database, START_NS + 31 * DAY_NS)
    assert (database.rows("SELECT * FROM chain"), database.rows("SELECT * FROM retry")) == ([], [])
    assert operations.as_they_are(database)[2] == [row for row in counts if row["width_s"] > 60]
    prune(database, START_NS + 500 * DAY_NS)
    assert (database.rows("SELECT * FROM retry_rollup"), database.rows("SELECT * FROM retry_histogram")) == ([], [])


def test_an_operation_outlives_its_first_calls_as_it_was(database: Database) -> None:
    edge = (900 * SECOND_NS - START_NS % (900 * SECOND_NS)) / SECOND_NS
    named = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": 1}, "errorCategory": "transient"}

    def attempt(number: int, at: float, **said: Any) -> Any:
        return tool_span("search", number, trace=f"{number:032x}", start=edge + at, attributes=named | said)

    database.take(*(attempt(number, number - 4) for number in range(1, 7)))
    [before] = database.rows("SELECT * FROM chain")
    now_ns = START_NS + round(edge * SECOND_NS) + 30 * DAY_NS
    prune(database, now_ns)
    assert len(database.calls()) == 3
    assert database.rows("SELECT * FROM chain") == [before]
    # It may even go on.
    database.insert(attempt(7, 3), now_ns=now_ns)
    database.settle(now_ns)
    [after] = database.rows("SELECT * FROM chain")
    assert (after["attempts"], after["start_ns"], after["ending"]) == (7, before["start_ns"], "exhausted")
