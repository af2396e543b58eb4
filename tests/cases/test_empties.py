"""B06 and B08: an empty result is a finding, neither a failure nor the same as data."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.database import Database
from tests.spans import SECOND_NS, START_NS, tool_span

DAY_S = 86_400


def test_b06_a_valid_empty_result_is_no_failure_and_no_data(take: Callable[[str], list[dict[str, Any]]], database: Database) -> None:
    calls = take("b06")
    assert [(call["outcome"], call["emptiness"]) for call in calls] == [("success", "empty")] * 3 + [("success", "data")]
    minute = [row for row in database.rollup() if (row["grain"], row["width_s"]) == (0, 60)]
    assert Counter({row["emptiness"]: row["calls"] for row in minute}) == {"empty": 3, "data": 1}
    assert all(row["category"] == "" for row in minute)


def test_b06_no_two_spellings_of_nothing_differ(database: Database) -> None:
    spellings = ["[]", "{}", "null", '""', "", '{"result": []}', '{"content": [], "structuredContent": {"result": []}, "isError": false}']
    given = [tool_span(number=number, attributes={"gen_ai.tool.call.result": text}) for number, text in enumerate(spellings, 1)]
    assert {(call["outcome"], call["emptiness"]) for call in database.take(*given)} == {("success", "empty")}


def test_b08_a_tool_that_goes_quiet_shows_in_its_empties_while_its_failures_fall(database: Database) -> None:
    def day(number: int, empty: int, failed: int) -> Any:
        return [
            tool_span(
                number=number * 1000 + place + 1,
                trace=f"{number * 1000 + place + 1:032x}",
                start=number * DAY_S + place,
                attributes={"errorCategory": "transient"} if place < failed else {"resultCount": 0 if place < failed + empty else 5},
            )
            for place in range(200)
        ]

    database.insert_together(
        (span for number in range(8) for span in (day(number, 20, 4) if number < 7 else day(number, 196, 0))),
        now_ns=START_NS + 8 * DAY_S * SECOND_NS,
    )
    database.settle()
    days: dict[int, Counter[str]] = {}
    first = START_NS - START_NS % (DAY_S * SECOND_NS)
    for row in database.rollup():
        if (row["grain"], row["width_s"]) == (0, 60):
            number = (row["bucket_ns"] - first) // (DAY_S * SECOND_NS)
            kind = "failure" if row["outcome"] == "failure" else row["emptiness"]
            days.setdefault(number, Counter())[kind] += row["calls"]
    assert [days[number] for number in range(7)] == [Counter(data=176, empty=20, failure=4)] * 7
    assert days[7] == Counter(data=4, empty=196)
