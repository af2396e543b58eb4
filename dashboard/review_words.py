"""How the numbers of a review are written, in every form that it has: page, file, Markdown. Pure."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from dashboard.text import path_segment
from dashboard.words import DASH, count, percent, points
from schemas.reviewing import BETTER, FEW, FEWER, GONE, MARKS, MORE, NEW, SAME, WORSE

NUMBERS: Mapping[str, str] = {
    "operations": "Operations",
    "operation_success": "Operation success",
    "retry_ratio": "Retry ratio",
    "known_empty_share": "Known-empty share",
    "storm_minutes": "Storm minutes",
}
# By shape and word, never by colour alone.
SHOWN: Mapping[str, str] = {
    WORSE: "✕ worse", BETTER: "✓ better", MORE: "more", FEWER: "fewer", SAME: "~", FEW: "n<", NEW: "new", GONE: "gone",
}  # fmt: skip
# Not that there is none: what is looked at is the newest, in whole five minutes.
NO_SUSPECT = "None was found."
NO_FAULT = "No fault was found in the failures that were looked at."
# Rows that a page and its print have; the JSON form has all.
MOST_LEVELS, MOST_INCIDENTS, MOST_FINDINGS = 60, 15, 5
# A share of fewer is only counts; one of fewer than a thousand has its interval beside.
ENOUGH, CERTAIN = 20, 1_000
METHOD = (
    "A week is from a local Monday at 00:00 to the next, in the zone that the review names. Weeks of 167 or 169 hours are compared by "
    "the hour.",
    "Operations are calls with their retries, counted where their first attempt starts. Those that may still be retried while the week "
    "runs are counted as if they were over.",
    "A share is marked worse or better if Newcombe's 95 % interval of the difference excludes 0, the difference is at least half a "
    "point and a tenth of what it was, and the Benjamini-Hochberg q over all tools is at most 0.10. Calls come in sessions: they are "
    "counted as so many independent ones as their sessions are worth. Operation success uses what sessions say of failed calls.",
    "n<: fewer than 50 calls or 30 sessions in one of the two weeks. ~: no change beyond chance. new, gone: not called in the other week.",
    "A count is marked if it lies beyond where one more week would (95 %, Student's t on the logarithms of the four weeks before) and "
    "differs by a tenth.",
    "Where one share of a tool fell while the other rose, neither is called an improvement: failures may be told as empties.",
    "The budget of a tool is how many of the week's operations may fail by its target. Failures that are transient or unclassified are "
    "charged to the tool; the others are the caller's. What incidents used is counted by quarters of an hour.",
    "Intervals of one share are Wilson's, 95 %. Sessions are looked at of 60,000 calls a week, spread over tools and days.",
)


def share(of: Mapping[str, Any] | None) -> str:
    """A share with its counts: '5.0 %, 45 of 900 (3.8 to 6.6 %)', '0 of 40 (≤ 8.8 %)', a dash for 0 of 0."""
    if of is None or of["value"] is None:
        return f"{DASH} (none)"
    counts = f"{count(of['part'])} of {count(of['whole'])}"
    if of["part"] == 0:
        return f"{counts} (≤ {percent(of['high'])})"
    if of["part"] == of["whole"]:
        return f"{counts} (≥ {percent(of['low'])})"
    if of["whole"] < ENOUGH:
        return counts
    interval = f" ({percent(of['low'], unit=False)} to {percent(of['high'])})" if of["whole"] < CERTAIN else ""
    return f"{percent(of['value'])}, {counts}{interval}"


def amount(number: Mapping[str, Any], name: str = "value") -> str:
    """One of the values of a number: a share as such, a count as a count; a dash where there is none."""
    value = number[name]
    if value is None:
        return DASH
    return percent(value) if number["of"] is not None else count(value)


def rate(number: Mapping[str, Any], name: str = "rate") -> str:
    """A count by the hour."""
    value = number[name]
    return DASH if value is None else f"{value:,.3g} an hour"


def mark(word: str) -> str:
    """A mark as it is shown."""
    return SHOWN[word]


def meaning(word: str) -> str:
    """What a mark says."""
    return MARKS[word]


def difference(change: Mapping[str, Any]) -> str:
    """A difference of shares with its interval: '+3.0 points (+1.4 to +4.8)'; a dash where there is none."""
    if change["difference"] is None:
        return DASH
    low, high = (points(change[name]).removesuffix(" points") for name in ("low", "high"))
    return f"{points(change['difference'])} ({low} to {high})"


def budget(value: float | None) -> str:
    """A share of a budget, which may be used several times over: '43 %', '12 times'."""
    if value is None:
        return DASH
    return f"{value:,.0f} times" if value >= 10 else percent(value) if value <= 1 else f"{value * 100:.0f} %"


def allowed(value: float) -> str:
    """How many operations may fail: whole ones, but for few."""
    return f"{value:,.1f}" if value < 10 else count(value)


def days(value: float | None) -> str:
    """How long a budget lasts."""
    if value is None:
        return "not in sight"
    return "used up" if value == 0 else "< 1 day" if value < 1 else f"{value:.0f} days"


def tool_address(base: str, review: Mapping[str, Any], server: str, tool: str) -> str:
    """The page of a tool in the week of a review; `base` is the address of the dashboard, '' on its own pages."""
    return f"{base}/tools/{path_segment(server)}/{path_segment(tool)}?{_week(review)}"


def calls_address(base: str, review: Mapping[str, Any], **filters: str) -> str:
    """The calls of the week of a review."""
    return f"{base}/calls?{_week(review)}&{urlencode(filters)}"


def _week(review: Mapping[str, Any]) -> str:
    return urlencode({"from": review["start"], "to": review["end"]})
