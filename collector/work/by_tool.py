"""Numbers of every tool at once, in the rows of one table: what most rules look at is few of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collector.alert_counts import RETRY_SUMS

Tool = tuple[str, str]


class Retried(NamedTuple):
    """Sums over the attempts and operations of a tool, in the order of RETRY_SUMS."""

    attempts: int = 0
    failures: int = 0
    retries: int = 0
    wasted: int = 0
    failed_last: int = 0
    headless: int = 0

    @property
    def operations(self) -> int:
        """How many operations begin here; one whose first attempt was not received begins with the first that was."""
        return self.attempts - self.retries + self.headless


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ByTool:
    """A number for every tool of which there was a call when it was counted."""

    rows: Mapping[Tool, int]
    numbers: Numbers

    def of(self, tool: Tool) -> int:
        """That of one tool; 0 if it was not called."""
        row = self.rows.get(tool, len(self.numbers))
        return int(self.numbers[row]) if row < len(self.numbers) else 0

    def where(self, holds: npt.NDArray[np.bool_]) -> list[Tool]:
        """The tools at which something holds."""
        tools = tuple(self.rows)
        return [tools[row] for row in holds.nonzero()[0].tolist()]


@dataclass(frozen=True, slots=True)
class RetriedByTool:
    """The sums of every tool of which there was a call when they were counted: a row each, in the order of RETRY_SUMS."""

    rows: Mapping[Tool, int]
    sums: Numbers

    def of(self, tool: Tool) -> Retried:
        """Those of one tool."""
        row = self.rows.get(tool, len(self.sums))
        return Retried(*self.sums[row].tolist()) if row < len(self.sums) else Retried()

    def each(self, name: str) -> ByTool:
        """One of the sums of every tool."""
        return ByTool(self.rows, self.sums[:, RETRY_SUMS.index(name)])

    def operations(self) -> ByTool:
        """How many operations of every tool begin here, as `Retried` has it."""
        each = [self.each(name).numbers for name in ("attempts", "retries", "headless")]
        return ByTool(self.rows, each[0] - each[1] + each[2])
