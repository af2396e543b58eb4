"""Whether somebody who should be heard of is not: a tool that is called at this hour every week, and a server that sent all the time."""

from collections.abc import Sequence

from schemas.alerting import CLEAR, HOLD, TRUE

# The weeks before that are looked at, how many of them must agree, and the calls that make an hour a busy one.
WEEKS, AGREEING, BUSY = 4, 3, 20
# How long a server may say nothing, and in how many of the 60 minutes before it must have been heard of to be missed.
SERVER_SILENT_S = 600
STEADY_MINUTES = 30


def tool_silent(calls_now: int, same_hour_before: Sequence[int]) -> str:
    """Whether a tool is not called in an hour in which it was at least `BUSY` times in three of the last four weeks."""
    if calls_now:
        return CLEAR
    return TRUE if sum(calls >= BUSY for calls in same_hour_before[:WEEKS]) >= AGREEING else HOLD


def server_silent(silent_s: float, minutes_heard: int) -> str:
    """Whether a server sent nothing for ten minutes. `minutes_heard` counts those with calls in the hour before it fell silent."""
    if silent_s < SERVER_SILENT_S:
        return CLEAR
    return TRUE if minutes_heard >= STEADY_MINUTES else HOLD
