"""Who is missed: what came every week, or all the time."""

from collector.core.quiet import server_silent, tool_silent
from schemas.alerting import CLEAR, HOLD, TRUE
from tests.tables import sentences


@sentences(
    "calls, weeks, condition",
    {
        "three weeks of four": (0, [20, 25, 0, 90], TRUE),
        "two of four": (0, [20, 25, 19, 0], HOLD),
        "it is called": (1, [20, 20, 20, 20], CLEAR),
        "a tool of two weeks": (0, [90, 90], HOLD),
        "the fifth week does not count": (0, [20, 20, 0, 0, 20], HOLD),
    },
)
def test_a_tool(calls: int, weeks: list[int], condition: str) -> None:
    assert tool_silent(calls, weeks) == condition


@sentences(
    "silent_s, minutes, condition",
    {
        "ten minutes after an hour of calls": (600, 60, TRUE),
        "not yet ten minutes": (599, 60, CLEAR),
        "one that is called now and then": (3600, 29, HOLD),
        "half of the minutes make it steady": (600, 30, TRUE),
    },
)
def test_a_server(silent_s: float, minutes: int, condition: str) -> None:
    assert server_silent(silent_s, minutes) == condition
