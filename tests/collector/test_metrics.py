"""What `/metrics` says: families from records, in a form that promtool finds no fault with, whatever names spans have."""

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from collector.core.totals import Count, Place, Totals
from collector.metric_store import RuleEvaluated, Waiting
from collector.metrics import MOST_ALERTS, TOTALS, Exposition, Received, Work, of_calls, of_collector, of_database, of_work
from collector.work.measuring import Measured
from schemas.alerting import FIRING, PENDING, SECOND_NS, Alert, labels_of
from tests.prometheus import promtool

NOW_NS = 1_800_000_000 * SECOND_NS
HOSTILE = 'x"} 1\ntoolvitals_calls_total{tool="y\\ \x00 \u202e\u2028 </b>'
WORK = Work(1.5, 3, 4, 0.5, {("chat", "sent"): 2, ("chat", "given_up"): 1})
RECEIVED = Received(100, 3, 2, 0.25, {"Overloaded": 1}, {"logs": 2}, 1, 512, 1024)


def alert(number: int, **given: object) -> Alert:
    labels = labels_of(server="shop", tool=f"tool_{number}")
    values = {"class_": "", "state": FIRING, "started_ns": NOW_NS, "last_true_ns": NOW_NS, "evaluated_ns": NOW_NS, "fired_ns": NOW_NS}
    return Alert(**{"id": f"{number:04d}", "rule": "loop", "labels": labels, "severity": "ticket", **values, **given})  # type: ignore[arg-type]


def measured(**given: object) -> Measured:
    values = {
        "at_ns": NOW_NS,
        "spans": {"received_spans": 7, "tool_spans": 5},
        "traces": Waiting(2, NOW_NS - 3 * SECOND_NS),
        "minutes": Waiting(0, None),
        "rules": [RuleEvaluated("loop", NOW_NS - SECOND_NS, True)],
        "alerts": [],
        "deliveries": {"chat": Waiting(1, NOW_NS - 60 * SECOND_NS)},
    }
    return Measured(**{**values, **given})  # type: ignore[arg-type]


def totals(*places: Place, most: int = 5) -> Totals:
    made = Totals(most)
    made.look({}, {})
    found = {(measure, word) for measure, _, _, words in TOTALS for word in words}
    made.look({}, {Count(place, measure, word): 1 for place in places for measure, word in found})
    return made


def everything(*places: Place) -> list[Metric]:
    return [*of_calls(totals(*places)), *of_database(measured(alerts=[alert(1)])), *of_work(WORK), *of_collector(RECEIVED)]


def value(families: list[Metric], name: str, **labels: str) -> list[float]:
    return [one.value for family in families for one in family.samples if one.name == name and labels.items() <= one.labels.items()]


def test_every_tool_has_every_word_from_the_first_scrape_on() -> None:
    made = Totals(5)
    made.name([Place("prod", "shop", "get")])
    families = list(of_calls(made))
    assert value(families, "toolvitals_failures_total", tool="get") == [0] * 5
    assert value(families, "toolvitals_operations_total", outcome="failed") == [0]


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("toolvitals_received_spans_total", {}, [7]),
        ("toolvitals_conflicting_spans_total", {}, [0]),
        ("toolvitals_pending_traces", {}, [2]),
        ("toolvitals_settle_lag_seconds", {}, [3]),
        ("toolvitals_rule_failed", {"rule": "loop"}, [1]),
        ("toolvitals_deliveries_waiting", {"channel": "chat"}, [1]),
        ("toolvitals_delivery_lag_seconds", {"channel": "chat"}, [60]),
        ("toolvitals_delivery_attempts_total", {"channel": "chat", "result": "sent"}, [2]),
        ("toolvitals_evaluation_seconds_sum", {}, [0.5]),
        ("toolvitals_collector_spans_total", {}, [100]),
        ("toolvitals_collector_failed_requests_total", {"failure": "Overloaded"}, [1]),
    ],
)
def test_records_become_samples(name: str, labels: dict[str, str], expected: list[float]) -> None:
    assert value(everything(), name, **labels) == expected


def test_nothing_that_waits_has_no_lag() -> None:
    families = list(of_database(measured(traces=Waiting(0, None))))
    assert value(families, "toolvitals_settle_lag_seconds") == [0]


def test_alerts_are_counted_whole_and_named_up_to_a_bound_the_most_urgent_first() -> None:
    many = [alert(number) for number in range(MOST_ALERTS + 10)]
    others = [alert(9_000, severity="page"), alert(9_001, state=PENDING, fired_ns=None), alert(9_002, muted_by="x")]
    families = list(of_database(measured(alerts=[*many, *others])))
    assert sum(value(families, "toolvitals_alerts")) == len(many) + 3
    assert value(families, "toolvitals_alerts", state="pending", muted="false") == [1]
    assert value(families, "toolvitals_alerts", muted="true") == [1]
    assert len(value(families, "toolvitals_alert_firing")) == MOST_ALERTS
    assert value(families, "toolvitals_alert_firing", severity="page", tool="tool_9000") == [1]
    assert value(families, "toolvitals_alert_firing", tool="tool_9001") + value(families, "toolvitals_alert_firing", tool="tool_9002") == []


def test_two_alerts_that_only_differ_in_labels_of_users_are_one_sample() -> None:
    twins = [alert(1, id="a", labels=labels_of(server="s", team="x")), alert(1, id="b", labels=labels_of(server="s", team="y"))]
    assert value(list(of_database(measured(alerts=twins))), "toolvitals_alert_firing") == [1]


@pytest.mark.parametrize("accept", ["", "text/plain", "application/openmetrics-text; version=1.0.0"])
def test_names_out_of_spans_are_values_and_nothing_else(accept: str) -> None:
    place = Place(HOSTILE, HOSTILE, HOSTILE)
    body, content_type = Exposition(lambda: everything(place)).answer(accept)
    assert content_type.startswith("application/openmetrics-text" if "openmetrics" in accept else "text/plain")
    if "openmetrics" in accept:
        assert body.endswith(b"# EOF\n")
        return
    parsed = {family.name: family for family in text_string_to_metric_families(body.decode())}
    calls = parsed["toolvitals_calls"].samples
    assert len(calls) == 5
    assert {(one.labels["environment"], one.labels["server"], one.labels["tool"]) for one in calls} == {place}


def test_promtool_finds_no_fault() -> None:
    body, _ = Exposition(lambda: everything(Place("prod", "shop", "get"), Place(HOSTILE, HOSTILE, HOSTILE))).answer("")
    told = promtool("check", "metrics", given=body)
    assert (told.returncode, told.stdout) == (0, "")


def test_promtool_knows_faults() -> None:
    assert promtool("check", "metrics", given=b"# TYPE a_total counter\na_total 1\n").returncode != 0


def test_every_family_says_what_it_is_and_has_a_name_as_others_have() -> None:
    for family in everything():
        assert family.documentation.endswith(".")
        assert family.name.startswith("toolvitals_")
        assert family.type in ("counter", "gauge", "summary")
