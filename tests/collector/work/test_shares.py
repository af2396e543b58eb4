"""A rise of empty answers is found at every tool that has one, however far another's rose."""

from typing import Any

from collector.alert_counts import AlertCounts
from collector.core.rulebook import read_rules
from collector.work.counts import Counts
from collector.work.detecting.shares import find_empty
from schemas.alerting import TRUE
from tests.alerting import Fleet
from tests.database import Database, on_sqlite
from tests.spans import SECOND_NS, START_NS, request

DAY_S = 86_400
ANSWERS = {"empty": '{"content": [], "structuredContent": {"items": []}}', "data": '{"content": [], "structuredContent": {"items": [1]}}'}
RULES = '[rules.empty_rise]\nkind = "empty_rise"\n'


def calls(fleet: Fleet, tool: str, start_s: float, empty: int, of: int) -> None:
    """So many calls, a second apart, of which so many find nothing."""
    for number in range(of):
        result: dict[str, Any] = {"gen_ai.tool.call.result": ANSWERS["empty" if number < empty else "data"]}
        fleet.call(start_s + number, session=f"{tool}{number}", arguments=f"{number}", tool=tool, **result)


@on_sqlite
def test_each_tool_that_rose_is_told_and_the_one_that_rose_most_is_nearest(database: Database) -> None:
    fleet = Fleet()
    for tool, before, now in (("a_most", 5, 95), ("b_less", 5, 60), ("c_much_as_ever", 60, 60), ("d_a_little", 5, 12)):
        calls(fleet, tool, 0, before, 100)
        calls(fleet, tool, DAY_S, now, 100)
    now_ns = START_NS + (DAY_S + 600) * SECOND_NS
    database.insert(request(*(one.span for one in fleet.sent), service="shop"), now_ns=now_ns)
    database.settle(now_ns)
    book = read_rules(RULES)
    counts = Counts(AlertCounts(database.engine))
    counts.at(now_ns)
    [rule] = [one for one in book.rules if one.name == "empty_rise"]
    said = find_empty(rule, counts, {})
    assert [(dict(one.labels)["tool"], one.condition) for one in said.findings] == [("a_most", TRUE), ("b_less", TRUE)]
    assert dict(said.labels)["tool"] == "a_most"
    assert said.value is not None
    assert 0.7 < said.value < 0.9
