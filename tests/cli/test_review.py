"""`toolvitals review` writes the same review in four forms, counted now, with a bar for whoever watches."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result

from cli import review as command
from cli.review_forms import markdown, plain, table
from collector.review_store import ReviewStore, Stored
from dashboard.review_example import REVIEW
from schemas.reviewing import KEYS, Note
from schemas.weeks import week_named
from tests import seeds
from tests.database import engine_of
from tests.tables import sentences

Run = Callable[..., Result]
# 1 to 200 seconds before NOW_NS, which is a Monday: they belong to the week that runs.
WEEK = "2026-W49"


@pytest.fixture
def run_here(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run it over some calls, at NOW_NS."""
    engine = engine_of(url)
    seeds.put_calls(
        engine,
        [
            seeds.call(number, outcome="failure" if number % 10 == 0 else "success", category="transient" if number % 10 == 0 else None)
            for number in range(1, 201)
        ],
    )
    engine.dispose()
    monkeypatch.setattr(command, "time", SimpleNamespace(time_ns=lambda: seeds.NOW_NS))
    return lambda *words: run("review", "--database-url", url, *words)


def test_as_json_it_has_the_keys_that_are_promised(run_here: Run) -> None:
    result = run_here("--week", WEEK, "--format", "json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert tuple(record) == KEYS
    assert (record["week"], record["zone"], record["partial"], record["hours"]) == (WEEK, "UTC", True, 168)
    assert record["numbers"]["operations"]["value"] == 200
    assert record["pareto"]["failures"] == 20


def test_the_zone_cuts_the_week(run_here: Run) -> None:
    record = json.loads(run_here("--week", "2026-W44", "--zone", "America/New_York", "--format", "json").stdout)
    assert (record["start"], record["end"], record["hours"]) == ("2026-10-26T04:00:00Z", "2026-11-02T05:00:00Z", 169)


def test_without_a_week_it_is_the_last_one_that_is_over(run_here: Run) -> None:
    assert json.loads(run_here("--format", "json").stdout)["week"] == "2026-W48"


def test_as_markdown_it_is_read_as_it_stands(run_here: Run) -> None:
    shown = run_here("--week", WEEK).stdout
    assert shown.startswith(f"# Weekly reliability review {WEEK}\n")
    assert "The week is not closed" in shown
    assert "| transient | docs\\-mcp | search\\_docs | 20 | 100 % | 100 % |" in shown
    # 0 of 200 retries: at most 1.9 %.
    assert "0 of 200 \\(≤ 1.9 %\\)" in shown


def test_as_html_it_needs_no_other_file(run_here: Run, tmp_path: Path) -> None:
    file = tmp_path / "review.html"
    result = run_here("--week", WEEK, "--format", "html", "--output", str(file))
    assert result.exit_code == 0
    assert f"review of {WEEK} written to" in result.stderr
    shown = file.read_text("utf-8")
    assert shown.lstrip().startswith("<!doctype html>")
    for wanting in ("<script", "<link", "<form", "http://127.0.0.1:4320/static"):
        assert wanting not in shown
    assert "http://127.0.0.1:4320/tools/docs-mcp/search_docs?from=" in shown
    assert "@media print" in shown


def test_as_csv_every_number_is_a_line(run_here: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run_here("--week", WEEK, "--format", "csv").stdout)))
    [operations] = [row for row in rows if row["name"] == "operations.value"]
    assert (operations["section"], operations["value"]) == ("numbers", "200")


def test_what_people_added_is_in_it(run_here: Run, url: str) -> None:
    engine = engine_of(url)
    week = week_named(WEEK, "UTC")
    row = {
        "id": "aa",
        "zone": "UTC",
        "week": "2026-W40",
        "text": "Back off",
        "owner": "kim",
        "due": "",
        "created_ns": 1,
        "closed_ns": None,
        "closed_by": "",
    }
    seeds.put(engine, "review_action", [row])
    seeds.put(engine, "review_note", [{"id": "bb", "zone": "UTC", "week": WEEK, "who": "lee", "text": "Deploy", "at_ns": week.start_ns}])
    ReviewStore(engine).save("UTC", WEEK, Stored(3, seeds.NOW_NS, {}, REVIEW))
    engine.dispose()
    record = json.loads(run_here("--week", WEEK, "--format", "json").stdout)
    assert [one["text"] for one in record["actions"]] == ["Back off"]
    assert record["revision"] == 3
    shown = run_here("--week", WEEK).stdout
    assert "| Back off | kim |" in shown
    assert "| lee | 2026\\-11\\-30 00:00 UTC | Deploy |" in shown


@sentences(
    "words, says",
    {
        "what is no week": (("--week", "last"), "is no week"),
        "a week that there is not": (("--week", "2025-W53"), "52 or 53 weeks"),
        "a week that has not begun": (("--week", "2026-W50"), "has not begun"),
        "no zone": (("--week", WEEK, "--zone", "Mars/Olympus"), "is no time zone"),
    },
)
def test_what_cannot_be_reviewed_is_said(run_here: Run, words: tuple[str, ...], says: str) -> None:
    result = run_here(*words)
    assert result.exit_code == 1
    assert says in result.stderr


def test_a_file_that_cannot_be_written_is_said(run_here: Run, tmp_path: Path) -> None:
    result = run_here("--week", WEEK, "--output", str(tmp_path / "no" / "such.md"))
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_all_sections_of_the_example_are_in_every_form() -> None:
    record = {**REVIEW}
    shown = markdown(record, [Note("n", "2026-W48", "Jo", "x", 0)])
    headings = [line[3:] for line in shown.splitlines() if line.startswith("## ")]
    assert headings == [
        *("Five numbers", "Service levels", "Regressions", "Improvements", "One share fell while the other rose", "New", "Gone"),
        *("Causes of most failures", "Incidents", "Suspects of silent suppression", "What errors say", "Alerts", "Action items"),
        *("Notes", "How this was counted"),
    ]
    sections = {row["section"] for row in csv.DictReader(io.StringIO(table(record)))}
    assert sections == {"numbers", "data", "changes", "slo", "pareto", "incidents", "suspects", "contract", "alert_quality", "actions"}


@pytest.mark.parametrize("name", seeds.HOSTILE_NAMES)
def test_names_are_no_marks(name: str) -> None:
    record = {**REVIEW, "pareto": {**REVIEW["pareto"], "rows": [{**REVIEW["pareto"]["rows"][0], "tool": name}]}}
    [line] = [line for line in markdown(record, []).splitlines() if line.startswith("| transient")]
    assert plain(name) in line
    assert "<img" not in line.replace("\\<", "")
    assert line.count(" | ") == 7
    rows = list(csv.reader(io.StringIO(table(record))))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@"))]


def test_whoever_watches_sees_how_far_it_is(run_here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    consoles = []

    class Terminal(command.Console):
        def __init__(self, **_: object) -> None:
            self.shown = io.StringIO()
            super().__init__(file=self.shown, force_terminal=True, width=100)
            consoles.append(self)

    monkeypatch.setattr(command, "Console", Terminal)
    assert run_here("--week", WEEK, "--format", "json").exit_code == 0
    [console] = consoles
    assert "counting weeks" in console.shown.getvalue() or "done" in console.shown.getvalue()


def test_the_clock_is_read_once(run_here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(command, "time", SimpleNamespace(time_ns=lambda: read.append(1) or seeds.NOW_NS))
    assert run_here("--week", WEEK).exit_code == 0
    assert read == [1]
