"""Error budgets of tools that burn too fast."""

from collections.abc import Mapping
from typing import Any

from collector.core.burn import MOST, PAIRS, Burnt, Operations, Pair, charged, error_limit, judge
from collector.core.ratios import Kind
from collector.core.stats import wilson
from collector.work.by_tool import ByTool, RetriedByTool, Tool
from collector.work.counts import Counts
from collector.work.detecting.saying import (
    Lives,
    Nearest,
    Said,
    behind,
    evidence_of,
    first_failure,
    labels_for,
    tool_of,
    up_to,
)
from schemas.alerting import CLEAR, HOLD, NO_DATA, TRUE, Finding, Rule

SLO = 0.99
# The categories that are the tool's doing; the others are the caller's: shown, not charged.
CHARGED = ("transient", "unclassified")


class _Windows:
    """Operations of tools in windows that end now, those charged that are `wanted`; every window is asked for once."""

    def __init__(self, counts: Counts, wanted: tuple[str, ...]) -> None:
        self._counts = counts
        self._wanted = wanted
        self._retried: dict[int, RetriedByTool] = {}
        self._uncharged: dict[int, ByTool] = {}

    def of(self, tool: Tool, window_s: int) -> Operations:
        if window_s not in self._retried:
            self._retried[window_s] = self._counts.retried(window_s)
        sums = self._retried[window_s].of(tool)
        if not sums.failed_last:
            return Operations(0, sums.operations)
        if window_s not in self._uncharged:
            name = f"not {' '.join(self._wanted)}"
            self._uncharged[window_s] = self._counts.chosen(window_s, self._is_uncharged, name)
        return Operations(charged(sums.failed_last, self._uncharged[window_s].of(tool), sums.wasted), sums.operations)

    def _is_uncharged(self, kind: Kind) -> bool:
        return kind.outcome == "failure" and kind.category not in self._wanted


def find(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a burn rate rule says of every tool: the most urgent pair of windows that burns, or how far the alert is from its end."""
    slo = float(rule.options.get("slo", SLO))
    own: Mapping[str, float] = rule.options.get("slo_of", {})
    windows = _Windows(counts, tuple(rule.options.get("charged", CHARGED)))
    suspects: set[Tool] = {
        (server, tool) for server, tool in (tool_of(labels) for name, labels in lives if name == rule.name) if tool is not None
    }
    strictest = min(1 - slo, *(1 - level for level in own.values())) if own else 1 - slo
    for pair in PAIRS:
        limit = min(pair.rate * strictest, MOST)
        short = counts.retried(pair.short_s)
        failed = short.each("failed_last")
        # Before it is known what is charged, and of the short window alone: the rest is read of these.
        hot = failed.where(failed.numbers > limit * short.operations().numbers)
        suspects.update(tool for tool in hot if rule.watches(*tool))
    nearest, findings = Nearest(1.0), []
    for tool in sorted(suspects):
        labels, level = labels_for(rule, *tool), float(own.get(f"{tool[0]}/{tool[1]}", own.get(tool[1], slo)))
        alert = lives.get((rule.name, labels))
        if alert is None and not any(_hot(windows, tool, pair, level) for pair in PAIRS):
            continue
        pairs = [_judged(windows, tool, pair, level) for pair in PAIRS]
        burning = [burnt for burnt, _, _ in pairs if burnt.condition == TRUE]
        for burnt, long, _ in pairs:
            nearest.see((long.ratio or 0.0) / burnt.limit, labels)
        if burning:
            shown = next(one for one in pairs if one[0].condition == TRUE)
            evidence = _told(*shown, level) | behind(counts, [tool], shown[0].pair.short_s, alert, evidence_of)
            severity = up_to(shown[0].pair.severity, rule.severity)
            first = first_failure(counts, [tool], shown[0].pair.long_s) if alert is None else None
            findings.append(Finding(rule.name, labels, TRUE, severity, "", evidence, first))
        elif alert is not None:
            conditions = {burnt.condition for burnt, _, _ in pairs}
            ended = NO_DATA if NO_DATA in conditions else CLEAR if conditions == {CLEAR} else HOLD
            findings.append(Finding(rule.name, labels, ended, alert.severity))
    return nearest.said(findings)


def _hot(windows: _Windows, tool: Tool, pair: Pair, slo: float) -> bool:
    """Whether the short window of a pair burns."""
    ratio = windows.of(tool, pair.short_s).ratio
    return ratio is not None and ratio > error_limit(pair, slo)


def _judged(windows: _Windows, tool: Tool, pair: Pair, slo: float) -> tuple[Burnt, Operations, Operations]:
    short = windows.of(tool, pair.short_s)
    # The long window costs more: it is read once the short one burns.
    burns = short.ratio is not None and short.ratio > error_limit(pair, slo)
    long = windows.of(tool, pair.long_s) if burns else Operations(0, 0)
    return judge(pair, slo, long, short), long, short


def _told(burnt: Burnt, long: Operations, short: Operations, slo: float) -> dict[str, Any]:
    low, high = wilson(long.bad, long.total)
    return {
        "bad": long.bad,
        "operations": long.total,
        "value": long.ratio,
        "low": low,
        "high": high,
        "threshold": burnt.limit,
        "window_s": burnt.pair.long_s,
        "short": {"bad": short.bad, "operations": short.total, "window_s": burnt.pair.short_s},
        "burn_rate": (long.ratio or 0.0) / (1 - slo),
        "slo": slo,
        "budget": burnt.budget,
    }
