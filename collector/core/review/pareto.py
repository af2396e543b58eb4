"""The few causes of most failures: by category and tool, to four fifths of them or ten rows."""

from collections.abc import Mapping

from collector.core.review.counts import Tool, ToolCounts
from schemas.reviewing import Cause, Pareto

MOST = 10


def causes(tools: Mapping[Tool, ToolCounts]) -> Pareto:
    """Failures by category and tool, most first."""
    counted = [(count, category, tool) for tool, one in tools.items() for category, count in one.categories.items() if count]
    failures = sum(one[0] for one in counted)
    rows: list[Cause] = []
    reached = 0
    for count, category, tool in sorted(counted, key=lambda one: (-one[0], *one[2], one[1])):
        # In whole calls: 4 of 5 are four fifths, whatever floats say.
        if len(rows) == MOST or 5 * reached >= 4 * failures:
            break
        reached += count
        one = tools[tool]
        rows.append(Cause(category, *tool, count, count / failures, reached / failures, one.wasted, one.missed))
    return Pareto(
        failures, tuple(rows), failures - reached, sum(one.wasted for one in tools.values()), sum(one.missed for one in tools.values())
    )
