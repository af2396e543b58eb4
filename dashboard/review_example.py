"""An example of a review, for the description of the API; made by what makes the real ones. Pure."""

from dataclasses import asdict, replace

from dashboard.review_queries import Listed
from schemas import contracts, suppression
from schemas.reviewing import (
    FAILURES,
    SAME,
    WORSE,
    Action,
    AlertQuality,
    Cause,
    Change,
    Changes,
    Data,
    Incident,
    Note,
    Number,
    Numbers,
    Pareto,
    Review,
    RuleQuality,
    Share,
    Slo,
)
from schemas.weeks import HOUR_NS, week_named

_WEEK = week_named("2026-W48", "Europe/Berlin")
_TOOL = ("docs-mcp", "search_docs")
_NOW, _BEFORE = Share(45, 900, 0.05, 0.0376, 0.0662), Share(20, 1000, 0.02, 0.0130, 0.0307)
_SUCCESS = Number(0.95, 0.98, 0.98, WORSE, Share(855, 900, 0.95, 0.9338, 0.9624))
_COUNT = Number(13_502.0, 12_960.0, 12_870.0, SAME, None, 80.4, 77.1, 76.6)
_CHANGE = Change(*_TOOL, FAILURES, WORSE, _NOW, _BEFORE, 210, 640.0, 0.03, 0.011, 0.051, 0.004)
_CHANGES = Changes(
    (_CHANGE,), (_CHANGE,), ((_CHANGE, _CHANGE),), ((*_TOOL, 140),), ((*_TOOL, 140),), 14, 3
)  # fmt: skip
_SUSPECT = suppression.Suspect(
    "production", *_TOOL, suppression.POSSIBLE, (), 0.02, 150, 1150, 4, 1320
)  # fmt: skip
_CONTRACT = contracts.ContractQuality("production", *_TOOL, 40, (contracts.ContractFinding(contracts.CATEGORY, 12, 40),))
_INCIDENT = Incident(
    "a1", "storm", "fleet", "page", *_TOOL, _WEEK.start_ns, _WEEK.start_ns + HOUR_NS, _WEEK.start_ns + 2 * HOUR_NS, 900, 300, 3.0, 80,
    0.59, True, "41 of 90 attempts are retries",
)  # fmt: skip
_REVIEW = Review(
    _WEEK.name, _WEEK.zone, _WEEK.start_ns, _WEEK.end_ns, _WEEK.hours, False, 1,
    Numbers(
        _COUNT, _SUCCESS, Number(0.05, 0.02, 0.02, WORSE, _NOW), Number(0.05, 0.02, 0.02, SAME, _NOW),
        replace(_COUNT, value=60.0, rate=0.4), Data(672, 671, 14_210, _WEEK.end_ns + 2 * HOUR_NS, 0),
    ),
    (Slo(*_TOOL, 0.99, 13_402, 100, 13_502, 135.0, 0.74, 0.59, 0.5, 21.0),),
    _CHANGES,
    Pareto(45, (Cause("transient", *_TOOL, 30, 0.67, 0.67, 4, 2),), 15, 4, 2),
    (_INCIDENT,),
    (_SUSPECT.record(),),
    (_CONTRACT.record(),),
    AlertQuality(4, 2, 1, 0, (RuleQuality("retry_storm", 4, 2, 1, 0),)),
)  # fmt: skip
_ACTION = Action("b2", _WEEK.name, "Back off in the agent", "Jo", "2026-12-24", _WEEK.end_ns, _WEEK.end_ns, "Jo")

REVIEW = {**_REVIEW.record(), "actions": [asdict(_ACTION)]}
_NOTE = Note("c3", _WEEK.name, "Jo", "Deploy on Tuesday", _WEEK.end_ns)
LISTED = Listed(
    _WEEK.name, _WEEK.zone, 1, _WEEK.end_ns, False, REVIEW["numbers"], 1, 1, (_NOTE,)
)  # fmt: skip
