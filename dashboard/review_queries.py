"""Every SQL statement on weekly reviews that pages ask: the archive, one week, what is to be done, and notes."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlmodel import SQLModel

from schemas import review_tables  # noqa: F401 - declares the tables in the metadata
from schemas.reviewing import Action, Note

REVIEW: Table = SQLModel.metadata.tables["review"]
ACTION: Table = SQLModel.metadata.tables["review_action"]
NOTE: Table = SQLModel.metadata.tables["review_note"]

# Five years of weeks.
MOST_WEEKS = 260
MOST_ACTIONS = 200


@dataclass(frozen=True, slots=True)
class OneReview:
    """A review as it is stored, with what people added. `revisions` are those there are, the first first."""

    record: Mapping[str, Any]
    created_ns: int
    revisions: tuple[int, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the archive."""

    week: str
    zone: str
    revision: int
    created_ns: int
    partial: bool
    numbers: Mapping[str, Any]
    regressions: int
    incidents: int
    notes: tuple[Note, ...]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def archive(connection: Connection, zone: str) -> list[Listed]:
    """The newest revision of each review of a zone, the newest week first."""
    newest = (
        select(REVIEW.c.week, func.max(REVIEW.c.revision).label("revision"))
        .where(REVIEW.c.zone == zone)
        .group_by(REVIEW.c.week)
        .order_by(REVIEW.c.week.desc())
        .limit(MOST_WEEKS)
        .subquery()
    )
    query = (
        select(REVIEW.c.week, REVIEW.c.revision, REVIEW.c.created_ns, REVIEW.c.content)
        .join(newest, (newest.c.week == REVIEW.c.week) & (newest.c.revision == REVIEW.c.revision))
        .where(REVIEW.c.zone == zone)
        .order_by(REVIEW.c.week.desc())
    )
    written: dict[str, list[Note]] = {}
    notes = select(*(NOTE.c[name] for name in Note.__slots__)).where(NOTE.c.zone == zone).order_by(NOTE.c.at_ns, NOTE.c.id)
    for row in connection.execute(notes.limit(MOST_ACTIONS)):
        written.setdefault(row.week, []).append(Note(*row))
    found = []
    for row in connection.execute(query):
        content = json.loads(row.content)
        found.append(
            Listed(
                *(row.week, zone, row.revision, row.created_ns, content["partial"], content["numbers"]),
                *(len(content["changes"]["regressions"]), len(content["incidents"]), tuple(written.get(row.week, ()))),
            )
        )
    return found


def one(connection: Connection, zone: str, week: str, revision: int | None, start_ns: int) -> OneReview | None:
    """A review: the newest revision, or another; with the actions of its week, which begins at `start_ns`."""
    this = (REVIEW.c.zone == zone, REVIEW.c.week == week)
    revisions = tuple(connection.execute(select(REVIEW.c.revision).where(*this).order_by(REVIEW.c.revision)).scalars())
    wanted = revision if revision is not None else max(revisions, default=None)
    query = select(REVIEW.c.created_ns, REVIEW.c.content).where(*this, REVIEW.c.revision == wanted)
    row = None if wanted is None else connection.execute(query).first()
    if row is None:
        return None
    record = {**json.loads(row.content), "actions": [asdict(action) for action in actions(connection, zone, week, start_ns)]}
    notes = select(*(NOTE.c[name] for name in Note.__slots__)).where(NOTE.c.zone == zone, NOTE.c.week == week)
    found = connection.execute(notes.order_by(NOTE.c.at_ns, NOTE.c.id).limit(MOST_ACTIONS))
    return OneReview(record, row.created_ns, revisions, tuple(Note(*one) for one in found))


def actions(connection: Connection, zone: str, week: str, start_ns: int) -> list[Action]:
    """What was to be done in a week: noted in it or before, and not closed before it began; what is open first."""
    live = ACTION.c.closed_ns.is_(None) | (ACTION.c.closed_ns >= start_ns)
    query = select(*(ACTION.c[name] for name in Action.__slots__)).where(ACTION.c.zone == zone, ACTION.c.week <= week, live)
    order = (ACTION.c.closed_ns.is_not(None), ACTION.c.created_ns, ACTION.c.id)
    return [Action(*row) for row in connection.execute(query.order_by(*order).limit(MOST_ACTIONS))]
