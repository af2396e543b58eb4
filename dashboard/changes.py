"""What broke: the tools whose failure share grew beyond chance since the period before. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.queries import ToolTally
from dashboard.tally import Ratio, Tally


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that fails more than before; `mostly` is its largest failure category."""

    server: str
    tool: str
    now: Ratio
    before: Ratio
    mostly: str


def grown(now: Iterable[ToolTally], before: Iterable[ToolTally], limit: int = 3) -> tuple[Change, ...]:
    """The tools whose intervals lie apart, most additional failures first. Too few calls before or now: left out."""
    earlier = {(tool.server, tool.tool): tool.tally.failure_ratio for tool in before}
    found: list[tuple[float, Change]] = []
    for tool in now:
        ratio, old = tool.tally.failure_ratio, earlier.get((tool.server, tool.tool), Ratio(0, 0))
        if not (ratio.enough and old.enough and ratio.interval and old.interval) or ratio.interval[0] <= old.interval[1]:
            continue
        more = ratio.part - ratio.whole * (old.value or 0)
        found.append((more, Change(tool.server, tool.tool, ratio, old, main_category(tool.tally))))
    return tuple(change for _, change in sorted(found, key=lambda pair: -pair[0])[:limit])


def main_category(tally: Tally) -> str:
    """The category with most failures, '' without failures."""
    categories = ("transient", "validation", "business", "permission", "unclassified")
    return max(categories, key=lambda name: getattr(tally, name)) if tally.failure else ""
