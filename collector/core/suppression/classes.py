"""How sure a suspicion is, and which of all tools are suspects."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from collector.core.suppression.chance import Looked, false_shares, together
from schemas.suppression import CONFIRMED, POSSIBLE, PROBABLE, Q1, Q2, Q3, Q5, Q6, ByDesign, Signal, Suspect

# Sessions in which failed spans must have been hidden to be sure.
SESSIONS = 2
# The share of suspects that may be none.
FALSE_SHARE = 0.05


class Place(NamedTuple):
    """Where a tool is."""

    environment: str
    server: str
    tool: str


class Case(NamedTuple):
    """All that was tested of a tool, and the counts that it rests on."""

    place: Place
    tests: Sequence[Looked | None]
    empty: int
    known: int
    failure: int
    completed: int


def class_of(signals: Iterable[Signal]) -> str | None:
    """How sure it is that a tool suppresses failures; None without any signal."""
    found = {signal.id: signal for signal in signals}
    if Q1 in found and found[Q1].detail["sessions"] >= SESSIONS:
        return CONFIRMED
    if sum((Q2 in found, Q3 in found or Q5 in found, Q6 in found)) >= 2:
        return PROBABLE
    return POSSIBLE if found else None


def suspects(cases: Iterable[Case], marks: Mapping[tuple[str, str], ByDesign]) -> list[Suspect]:
    """The tools that are suspects, the surest first: with a signal, and unlikely enough among all tools that were looked at.

    `marks` are those that hold, by server and tool.
    """
    looked_at = [(case, [test for test in case.tests if test is not None]) for case in cases]
    looked_at = [(case, tests) for case, tests in looked_at if tests]
    shares = false_shares([together([test.p for test in tests]) for _, tests in looked_at])
    found = []
    for (case, tests), share in zip(looked_at, shares, strict=True):
        signals = tuple(sorted((test.signal for test in tests if test.signal is not None), key=lambda signal: signal.id))
        class_ = class_of(signals)
        if class_ is not None and share <= FALSE_SHARE:
            mark = marks.get((case.place.server, case.place.tool))
            found.append(Suspect(*case.place, class_, signals, share, case.empty, case.known, case.failure, case.completed, mark))
    return sorted(found, key=lambda suspect: suspect.order)
