"""Q3 and Q5: what a tool says while other tools of its server fail: suddenly nothing, or that all is well."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from collector.core.stats import Z, newcombe
from collector.core.suppression.chance import RARE, Looked, more_often
from schemas.suppression import Q3, Q5, Signal

# A stretch of five minutes is bad if other tools fail in more than so many of at least so many calls, for certain.
BAD_SHARE, BAD_CALLS = 0.2, 5
LEAST_DIFFERENCE = 0.05
# A tool that fails half as often as its siblings may be lucky.
LUCKY = 0.5

Counts = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Course:
    """The calls of a tool by stretches of five minutes, all of one length: counts of the same stretches as those of its siblings."""

    empty: Counts
    data: Counts
    failure: Counts
    completed: Counts

    @property
    def known(self) -> Counts:
        """Successes of which it is known whether they held data."""
        return self.empty + self.data


def others(whole: Course, one: Course) -> Course:
    """All tools of a server but one."""
    return Course(*(getattr(whole, name) - getattr(one, name) for name in Course.__slots__))


def together(courses: Sequence[Course]) -> Course:
    """Several tools as one."""
    return Course(*(np.sum([getattr(one, name) for one in courses], axis=0) for name in Course.__slots__))


def bad(siblings: Course) -> Marks:
    """In which stretches siblings fail: the lower end of Wilson's interval lies above a fifth of five calls or more."""
    whole = np.maximum(siblings.completed, 1)
    share = siblings.failure / whole
    middle = share + Z * Z / (2 * whole)
    half = Z * np.sqrt(share * (1 - share) / whole + Z * Z / (4 * whole * whole))
    low = (middle - half) / (1 + Z * Z / whole)
    return np.asarray((siblings.completed >= BAD_CALLS) & (low > BAD_SHARE))


def look_beside(tool: Course, stretches: Marks) -> Looked | None:
    """Q3: whether answers are empty more often while siblings fail. None if there are no answers then, or none else."""
    k, n = int(tool.empty[stretches].sum()), int(tool.known[stretches].sum())
    other_k, other_n = int(tool.empty[~stretches].sum()), int(tool.known[~stretches].sum())
    if not n or not other_n:
        return None
    p = more_often(k, n, other_k, other_n)
    low, high = newcombe(k, n, other_k, other_n)
    if p >= RARE or low <= LEAST_DIFFERENCE:
        return Looked(p)
    counts = {"other_k": other_k, "other_n": other_n, "low": low, "high": high}
    return Looked(p, Signal(Q3, k, n, p, {**counts, "stretches": int(stretches.sum())}))


def look_for_luck(tool: Course, siblings: Course, stretches: Marks) -> Looked | None:
    """Q5: whether a tool fails less than half as often as its siblings while they fail. None if it is not called then."""
    failures, calls = int(tool.failure[stretches].sum()), int(tool.completed[stretches].sum())
    sibling_k, sibling_n = int(siblings.failure[stretches].sum()), int(siblings.completed[stretches].sum())
    if not calls or not sibling_n:
        return None
    share = sibling_k / sibling_n
    p = float(binom.cdf(failures, calls, share * LUCKY))
    if p >= RARE:
        return Looked(p)
    counts = {"sibling_k": sibling_k, "sibling_n": sibling_n, "expected": share * LUCKY * calls}
    return Looked(p, Signal(Q5, failures, calls, p, {**counts, "stretches": int(stretches.sum())}))
