"""`toolvitals prune` says what would go, and removes it."""

from collections.abc import Callable

from click.testing import Result
from sqlalchemy import text

from schemas.rollups import DAY_NS
from tests import seeds
from tests.database import engine_of

Run = Callable[..., Result]


def test_a_dry_run_changes_nothing_and_a_run_does_what_it_said(run: Run, url: str) -> None:
    engine = engine_of(url)
    rows = [seeds.call(number, start_ns=seeds.NOW_NS - 4000 * DAY_NS - number * 10**9) for number in range(1, 50)]
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row) for row in rows])

    def left() -> int:
        with engine.connect() as connection:
            return int(connection.execute(text("SELECT (SELECT count(*) FROM call) + (SELECT count(*) FROM tool_span)")).scalar_one())

    told = run("prune", "--dry-run", f"--database-url={url}")
    assert told.exit_code == 0
    [line] = [line for line in told.stdout.splitlines() if line.startswith(" call ")]
    assert line.split() == ["call", "49", "49", "-"]
    assert left() == 98
    done = run("prune", f"--database-url={url}")
    assert done.exit_code == 0, done.output
    assert "rows removed" in done.stdout
    assert ("pages given back" in done.stdout) is (engine.dialect.name == "sqlite")
    assert left() == 0
    assert run("prune", f"--database-url={url}").stdout.splitlines()[-1] == "0 rows removed"
    engine.dispose()
