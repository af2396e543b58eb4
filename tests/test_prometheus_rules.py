"""The rules for Prometheus that the documentation ships: promtool finds no fault, their own tests pass, and every metric in them exists."""

import re
from pathlib import Path

import pytest
import yaml

from collector.core.totals import Place, Totals
from collector.metric_store import RuleEvaluated, Waiting
from collector.metrics import Received, Work, of_calls, of_collector, of_database, of_work
from collector.work.measuring import Measured
from tests.prometheus import promtool
from tests.test_documented import ROOT

DOCS = ROOT / "docs"
ALERTING = (DOCS / "alerting.md").read_text()
RULES = yaml.safe_load((DOCS / "prometheus-rules.yml").read_text())
TESTS = ("prometheus-rules.test.yml", "prometheus-rules.weeks.test.yml")
TESTED = "".join((DOCS / name).read_text() for name in TESTS)


def names() -> set[str]:
    """The names of all samples that `/metrics` of worker and collector may have."""
    totals = Totals(1)
    totals.name([Place("prod", "shop", "get")])
    waiting = Waiting(1, 0)
    measured = Measured(0, {}, waiting, waiting, [RuleEvaluated("r", 0, False)], [], {"chat": waiting})
    families = [
        *of_calls(totals),
        *of_database(measured),
        *of_work(Work(0, 0, 0, 0, {("chat", "sent"): 1})),
        *of_collector(Received(0, 0, 0, 0, {"Overloaded": 1}, {"logs": 1}, 0, 0, 0)),
    ]
    # What has no sample without an alert.
    return {sample.name for family in families for sample in family.samples} | {"toolvitals_alerts", "toolvitals_alert_firing"}


NAMES = sorted(names())
ALERTS = [rule["alert"] for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]


def test_promtool_finds_no_fault_in_the_rules() -> None:
    told = promtool("check", "rules", "--lint=all", "--lint-fatal", str(DOCS / "prometheus-rules.yml"))
    assert told.returncode == 0, told.stdout


def test_the_rules_do_what_their_tests_say() -> None:
    told = promtool("test", "rules", *TESTS, cwd=DOCS)
    assert told.returncode == 0, told.stdout


def test_promtool_fails_where_a_rule_does_something_else(tmp_path: Path) -> None:
    (tmp_path / "prometheus-rules.yml").write_text((DOCS / "prometheus-rules.yml").read_text().replace("> 0.2\n", "> 0.9\n", 1))
    (tmp_path / TESTS[0]).write_text((DOCS / TESTS[0]).read_text())
    assert promtool("test", "rules", TESTS[0], cwd=tmp_path).returncode != 0


def test_rules_ask_for_metrics_that_exist() -> None:
    asked = {name for group in RULES["groups"] for rule in group["rules"] for name in re.findall(r"\btoolvitals_\w+", rule["expr"])}
    assert asked <= set(NAMES)


@pytest.mark.parametrize("alert", ALERTS)
def test_rule_is_tested(alert: str) -> None:
    assert f"alertname: {alert}" in TESTED


@pytest.mark.parametrize("group", [group["name"] for group in RULES["groups"]])
def test_group_is_documented(group: str) -> None:
    assert f"`{group}`" in ALERTING


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(("_count", "_sum"))])
def test_metric_is_documented(name: str) -> None:
    assert f"`{name}`" in ALERTING
