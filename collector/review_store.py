"""Every SQL statement by which the worker keeps reviews and has them sent; each public method is one transaction."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Engine, delete, func, select

from collector.statements import insert_for, table
from schemas.alert_tables import DeliveryRow
from schemas.alerting import Delivery
from schemas.review_tables import ReviewActionRow, ReviewNoteRow, ReviewRow
from schemas.reviewing import Action, Note


@dataclass(frozen=True, slots=True)
class Stored:
    """A review as it was stored: `seen` is what was counted when it was made, `content` the review as JSON has it."""

    revision: int
    created_ns: int
    seen: Mapping[str, int]
    content: Mapping[str, Any]


class ReviewStore:
    """The rows of reviews as the worker and the command line read and write them. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert = insert_for(engine)

    def latest(self, zone: str, week: str) -> Stored | None:
        """The newest revision of a review."""
        review = table(ReviewRow).c
        query = select(review.revision, review.created_ns, review.seen, review.content).where(review.zone == zone, review.week == week)
        with self._engine.connect().execution_options(read_only=True) as connection:
            row = connection.execute(query.order_by(review.revision.desc()).limit(1)).first()
        return None if row is None else Stored(row.revision, row.created_ns, json.loads(row.seen), json.loads(row.content))

    def save(self, zone: str, week: str, one: Stored) -> None:
        """Store a revision. That of a week which is not closed is written over, and goes when the week is."""
        review = table(ReviewRow)
        row = {
            "zone": zone,
            "week": week,
            "revision": one.revision,
            "created_ns": one.created_ns,
            "seen": json.dumps(dict(one.seen), sort_keys=True),
            "content": json.dumps(dict(one.content)),
        }
        insert = self._insert(review)
        changed = {name: insert.excluded[name] for name in ("created_ns", "seen", "content")}
        with self._engine.begin() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["zone", "week", "revision"], set_=changed), [row])
            if one.revision:
                connection.execute(delete(review).where(review.c.zone == zone, review.c.week == week, review.c.revision == 0))

    def tell(self, deliveries: Sequence[Delivery]) -> int:
        """Put deliveries into the outbox, each once: the same id is not sent anew. Returns how many are new."""
        if not deliveries:
            return 0
        delivery = table(DeliveryRow).c
        ids = [one.id for one in deliveries]
        insert = self._insert(table(DeliveryRow)).on_conflict_do_nothing(index_elements=["id"])
        with self._engine.begin() as connection:
            known = connection.execute(select(func.count()).where(delivery.id.in_(ids))).scalar_one()
            connection.execute(insert, [{**asdict(one), "body": json.dumps(dict(one.body))} for one in deliveries])
        return len(ids) - int(known)

    def actions(self, zone: str, week: str, start_ns: int) -> list[Action]:
        """What was to be done in a week: noted in it or before, and not closed before it began."""
        action = table(ReviewActionRow)
        live = action.c.closed_ns.is_(None) | (action.c.closed_ns >= start_ns)
        query = select(*(action.c[name] for name in Action.__slots__)).where(action.c.zone == zone, action.c.week <= week, live)
        with self._engine.connect().execution_options(read_only=True) as connection:
            return [Action(*row) for row in connection.execute(query.order_by(action.c.created_ns, action.c.id))]

    def notes(self, zone: str, week: str) -> list[Note]:
        """What people wrote under a review, the first first."""
        note = table(ReviewNoteRow)
        query = select(*(note.c[name] for name in Note.__slots__)).where(note.c.zone == zone, note.c.week == week)
        with self._engine.connect().execution_options(read_only=True) as connection:
            return [Note(*row) for row in connection.execute(query.order_by(note.c.at_ns, note.c.id))]
