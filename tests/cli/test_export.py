"""`toolvitals export calls` writes every call once, in order, page by page."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from sqlalchemy import insert

import cli.export
from schemas.export import RECORD_KEYS
from schemas.tables import CallRow, SQLModel
from tests.database import engine_of

Run = Callable[..., Result]
TABLE = SQLModel.metadata.tables[str(CallRow.__tablename__)]
SECOND_NS = 10**9
START_NS = 1_796_040_000 * SECOND_NS  # 2026-11-30T12:00Z


@pytest.fixture(autouse=True)
def _database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten calls, some of which start at the same time, read in pages of three."""
    monkeypatch.setattr(cli.export, "PAGE", 3)
    engine = engine_of(url)
    empty = {column.name: None if column.nullable else "" for column in TABLE.columns}
    rows = [
        empty
        | {
            "trace_id": bytes([9 - number]) * 16,
            "call_id": bytes([number + 1]) * 8,
            "start_ns": START_NS + number // 4 * SECOND_NS,
            "tool": "=get" if number % 2 else "list",
            "server": "orders" if number < 8 else "docs",
            "outcome": "failure",
            "retryable": bool(number % 2),
            "message": "-1 was refused",
            "views": json.dumps([{"span_id": f"{number:016x}"}]),
            "failed_children": "[]",
            "flags": "clock_skew salvaged",
        }
        for number in range(10)
    ]
    with engine.begin() as connection:
        connection.execute(insert(TABLE), rows)
    engine.dispose()


def exported(run: Run, url: str, *words: str) -> list[dict[str, object]]:
    """The records of a run that must succeed."""
    result = run("export", "calls", f"--database-url={url}", *words)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_call_once_and_in_order(run: Run, url: str) -> None:
    records = exported(run, url)
    assert len({record["call_id"] for record in records}) == len(records) == 10
    order = [(record["start_ns"], record["trace_id"], record["call_id"]) for record in records]
    assert order == sorted(order)
    assert {tuple(record) for record in records} == {RECORD_KEYS}


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--from", "2026-11-30T12:00:01Z"), 6),
        (("--to", "2026-11-30T12:00:01Z"), 4),
        (("--from", "2026-11-30T12:00:01Z", "--to", "2026-11-30T12:00:02Z"), 4),
        (("--tool", "list"), 5),
        (("--server", "docs"), 2),
        (("--server", "docs", "--tool", "list"), 1),
        (("--tool", "no such"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_what_was_asked_for(run: Run, url: str, words: tuple[str, ...], count: int) -> None:
    assert len(exported(run, url, *words)) == count


def test_table_holds_no_formula(run: Run, url: str, tmp_path: Path) -> None:
    file = tmp_path / "calls.csv"
    result = run("export", "calls", f"--database-url={url}", "--format=csv", f"--output={file}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"10 calls written to {file}" in result.stderr
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert tuple(rows[0]) == RECORD_KEYS
    assert {row["tool"] for row in rows} == {"'=get", "list"}
    assert {row["message"] for row in rows} == {"'-1 was refused"}
    assert {row["retryable"] for row in rows} == {"true", "false"}
    assert rows[0]["flags"] == '["clock_skew","salvaged"]'


def test_file_that_cannot_be_written_is_told_and_nothing_is_left(run: Run, url: str, tmp_path: Path) -> None:
    result = run("export", "calls", f"--database-url={url}", f"--output={tmp_path / 'gone' / 'calls.jsonl'}")
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_time_that_is_none_is_explained(run: Run, url: str) -> None:
    result = run("export", "calls", f"--database-url={url}", "--from", "yesterday")
    assert result.exit_code == 1
    assert "write 24h, 7d" in result.stderr
