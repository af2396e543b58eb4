"""Service levels of the week: how much of each tool's budget is used, by what, and how long it lasts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from collector.core.review.counts import Tool, ToolCounts
from schemas.alerting import BURN, Rule
from schemas.reviewing import Incident, Slo

TARGET = 0.99
CHARGED = ("transient", "unclassified")
# The budget that runs out is that of four weeks.
WEEKS, DAYS = 4, 28.0


@dataclass(frozen=True, slots=True)
class Targets:
    """The service level of each tool (by server/tool or by tool), that of all others, and the categories that are charged."""

    slo: float = TARGET
    own: Mapping[str, float] = field(default_factory=dict)
    charged: tuple[str, ...] = CHARGED

    def of(self, tool: Tool) -> float:
        """The service level of a tool."""
        return float(self.own.get(f"{tool[0]}/{tool[1]}", self.own.get(tool[1], self.slo)))


def targets_of(rules: Collection[Rule]) -> Targets:
    """The service levels by which the first burn rate rule watches; without one the default."""
    options = next((rule.options for rule in rules if rule.kind == BURN), {})
    return Targets(float(options.get("slo", TARGET)), dict(options.get("slo_of", {})), tuple(options.get("charged", CHARGED)))


def table(
    now: Mapping[Tool, ToolCounts],
    earlier: Sequence[Mapping[Tool, ToolCounts]],
    targets: Targets,
    incidents: Sequence[Incident],
    days: float,
) -> list[Slo]:
    """The levels of all tools that were called, what uses its budget most first. `earlier` are three weeks; `days` have gone by of this."""
    rows = []
    for tool, counts in now.items():
        if not counts.operations:
            continue
        target, bad, total = targets.of(tool), counts.bad(targets.charged), counts.operations
        budget = (1 - target) * total
        before = [week[tool] for week in earlier if tool in week]
        long_bad, long_total = bad + sum(one.bad(targets.charged) for one in before), total + sum(one.operations for one in before)
        by_incidents = min(bad, _by_incidents(tool, incidents))
        rows.append(
            Slo(
                *(*tool, target, total - bad, bad, total, budget, _part(bad, budget), _part(by_incidents, budget)),
                *(_part(long_bad, (1 - target) * long_total), _days_left((1 - target) * long_total - long_bad, bad, days)),
            )
        )
    return sorted(rows, key=lambda row: (-(row.used or 0.0), -row.total, row.server, row.tool))


def _by_incidents(tool: Tool, incidents: Sequence[Incident]) -> int:
    """Bad operations of a tool in its own incidents; one of a whole server tells nothing of a single tool."""
    return sum(one.bad for one in incidents if (one.server, one.tool) == tool)


def _part(bad: float, budget: float) -> float | None:
    return bad / budget if budget > 0 else None


def _days_left(left: float, bad: int, days: float) -> float | None:
    """Days until a budget is used up at this week's pace; None if that is beyond the four weeks that it is of, or never."""
    if left <= 0:
        return 0.0
    lasts = left * days / bad if bad else DAYS + 1
    return lasts if lasts <= DAYS else None
