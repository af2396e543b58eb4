"""`toolvitals rules`: files are written, refused by the line, and tried on what is stored."""

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from collector.core.default_rules import DEFAULTS
from schemas.alerting import FIRED, PAGE
from tests.alerting import Fleet, Watched, steady
from tests.database import NewDatabase, on_sqlite
from tests.spans import SECOND_NS, START_NS
from tests.tables import sentences

Run = Callable[..., Result]


def test_what_init_writes_passes_the_check(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    assert run("rules", "init", file).exit_code == 0
    assert file.read_text() == DEFAULTS
    checked = run("rules", "check", file)
    assert (checked.exit_code, checked.stdout) == (0, f"{file}: 8 rules, 0 channels, no mistake\n")
    again = run("rules", "init", file)
    assert again.exit_code == 1
    assert "is there already" in again.stderr
    assert run("rules", "init", file, "--force").exit_code == 0


def test_without_a_file_the_built_in_rules_are_checked(run: Run) -> None:
    assert run("rules", "check").stdout == "built-in rules: 8 rules, 0 channels, no mistake\n"


@sentences(
    "text, says",
    {
        "no TOML": ("[rules.a]\nkind = \n", ":2: this is no TOML"),
        "a kind that is none": ('\n[rules.a]\nkind = "strom"\n', ":3: rule a: kind is one of storm,"),
        "no kind": ("\n[rules.a]\nfor = '3m'\n", ":2: rule a: kind is one of"),
        "a threshold that cannot be read": (
            '[rules.a]\nkind = "custom"\nseverity = "page"\nwhen = "failures > 3"\n',
            ":4: rule a: cannot read",
        ),
        "an option of another kind": ('[rules.a]\nkind = "loop"\nslo = 0.9\n', ":3: rule a: a rule of kind loop has no `slo`"),
        "a number out of range": ('[rules.a]\nkind = "storm"\n\nwarn = 10\n', ":4: rule a: warn is a number from 0 to 1"),
        "limits the wrong way round": ('[rules.a]\nkind = "storm"\nwarn = 0.3\npage = 0.2\n', ":3: rule a: warn must not be above page"),
        "a time without a unit": ('[rules.a]\nkind = "storm"\nfor = 15\n', ":3: rule a: for is a time"),
        "a severity that is none": ('[rules.a]\nkind = "storm"\nseverity = "high"\n', ":3: rule a: severity is one of"),
        "a label that every alert has": ('[rules.a]\nkind = "loop"\nlabels = { tool = "x" }\n', ":3: rule a: server and tool"),
        "a runbook that is no link": ('[rules.a]\nkind = "loop"\nrunbook_url = "javascript:alert(1)"\n', ":3: rule a: runbook_url"),
        "suspects that page": ('[rules.a]\nkind = "suspects"\nseverity = "page"\n', ":3: rule a: suspects are looked for once an hour"),
        "a confidence that is none": ('[rules.a]\nkind = "suspects"\nleast = "sure"\n', ":3: rule a: least is one of confirmed,"),
        "something else at the top": ('evironments = ["prod"]\n', ":1: `evironments` is not known"),
    },
)
def test_a_mistake_is_named_with_its_line(run: Run, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    checked = run("rules", "check", file)
    assert checked.exit_code == 1
    assert says in checked.stderr


def test_all_mistakes_are_said_at_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[rules.a]\nkind = "loop"\nfor = 1\n[rules.b]\nkind = "x"\n')
    assert "2 mistakes" in run("rules", "check", file).stderr


def test_a_file_that_is_not_there_is_said(run: Run) -> None:
    assert "No such file" in run("rules", "check", "nowhere.toml").stderr


@on_sqlite
def test_history_is_replayed_as_it_was_watched(run: Run, new_database: NewDatabase) -> None:
    database = new_database()
    watched, fleet = Watched(database), Fleet()
    steady(fleet, 0, 2700, 6, down=lambda now: 600 <= now < 900)
    # Some retries that are too few for a storm.
    fleet.operation(100, [False, True], session="few", tool="list_orders")
    watched.run(fleet, 2700)
    [fired] = [one for one in watched.told if (one.rule, one.event) == ("retry_storm", FIRED)]
    url = str(database.engine.url)
    span = ("--from", f"{_iso(0)}", "--to", f"{_iso(2700)}", f"--database-url={url}")
    told = run("rules", "test", *span, "--format", "json")
    assert told.exit_code == 0, told.output
    storm = next(one for one in json.loads(told.stdout) if one["rule"] == "retry_storm")
    assert set(storm) == {
        *("rule", "labels", "severity", "class", "state", "started_ns", "fired_ns", "resolved_ns", "acknowledged_by", "muted_by"),
        *("evidence", "first_bad_ns", "delay_s"),
    }
    assert (storm["severity"], storm["class"], storm["state"]) == (PAGE, "fleet", "resolved")
    assert storm["first_bad_ns"] == START_NS + 600 * SECOND_NS
    # To the accuracy of minutes whose calls are spread evenly.
    assert abs(storm["fired_ns"] - START_NS - fired.at * SECOND_NS) <= 30 * SECOND_NS
    assert storm["delay_s"] <= 180
    text = run("rules", "test", *span)
    assert "retry_storm  server=shop tool=get_order  page fleet" in text.stdout
    assert "s after the first bad call" in text.stdout


def _iso(second: int) -> str:
    return f"2026-11-23T10:{second // 60:02d}:{second % 60:02d}Z"


@sentences(
    "words, says",
    {
        "an end before the begin": (("--from", "1h", "--to", "2h"), "--from is not before --to"),
        "a time that is none": (("--from", "yesterday"), "is no time"),
        "a format that is none": (("--format", "xml"), "it is text or json"),
    },
)
def test_what_cannot_be_replayed_is_said(run: Run, words: tuple[str, ...], says: str) -> None:
    told = run("rules", "test", *words)
    assert told.exit_code == 1
    assert says in told.stderr
