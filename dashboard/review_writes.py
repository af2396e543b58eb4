"""What people add to reviews: things to do, and notes; each change with a row in the audit."""

import secrets
from typing import Any

from sqlalchemy import Connection, Engine, select, update

from dashboard.alert_queries import AUDIT
from dashboard.review_queries import ACTION, NOTE, REVIEW


def add_action(engine: Engine, zone: str, week: str, text: str, owner: str, due: str, now_ns: int) -> bool:
    """Note something to do under a review. Returns whether there is such a review."""
    made = secrets.token_hex(8)
    row = {"text": text, "owner": owner, "due": due, "created_ns": now_ns, "closed_ns": None, "closed_by": ""}
    return _add(engine, ACTION, {"id": made, "zone": zone, "week": week, **row}, owner, "action item", now_ns, text)


def add_note(engine: Engine, zone: str, week: str, who: str, text: str, now_ns: int) -> bool:
    """Write a note under a review. Returns whether there is such a review."""
    row = {"id": secrets.token_hex(8), "zone": zone, "week": week, "who": who, "text": text, "at_ns": now_ns}
    return _add(engine, NOTE, row, who, "review note", now_ns, text)


def change_action(engine: Engine, action_id: str, who: str, text: str, owner: str, due: str, now_ns: int) -> str | None:
    """Say a thing to do in another way. Returns the week it was noted in; None if there is none that is open."""
    return _change(engine, action_id, who, "change action item", now_ns, text, {"text": text, "owner": owner, "due": due}, is_open=True)


def close_action(engine: Engine, action_id: str, who: str, now_ns: int) -> str | None:
    """Note that a thing is done. Returns the week it was noted in; None if there is none that is open."""
    return _change(engine, action_id, who, "close action item", now_ns, "", {"closed_ns": now_ns, "closed_by": who}, is_open=True)


def open_action(engine: Engine, action_id: str, who: str, now_ns: int) -> str | None:
    """Note that a thing is not done after all. Returns the week it was noted in; None if there is none that is closed."""
    return _change(engine, action_id, who, "open action item again", now_ns, "", {"closed_ns": None, "closed_by": ""}, is_open=False)


def _add(engine: Engine, table: Any, row: dict[str, Any], who: str, what: str, now_ns: int, note: str) -> bool:
    with engine.begin() as connection:
        there = select(REVIEW.c.week).where(REVIEW.c.zone == row["zone"], REVIEW.c.week == row["week"]).limit(1)
        if connection.execute(there).first() is None:
            return False
        connection.execute(table.insert(), [row])
        _audit(connection, now_ns, who, what, row["week"], note)
    return True


def _change(
    engine: Engine, action_id: str, who: str, what: str, now_ns: int, note: str, values: dict[str, Any], *, is_open: bool
) -> str | None:
    state = ACTION.c.closed_ns.is_(None) if is_open else ACTION.c.closed_ns.is_not(None)
    with engine.begin() as connection:
        changed = update(ACTION).where(ACTION.c.id == action_id, state).values(**values).returning(ACTION.c.week)
        week: str | None = connection.execute(changed).scalar()
        if week is not None:
            _audit(connection, now_ns, who, what, action_id, note)
    return week


def _audit(connection: Connection, now_ns: int, who: str, what: str, subject: str, note: str) -> None:
    row = {"id": secrets.token_hex(8), "at_ns": now_ns, "who": who, "what": what, "subject": subject, "note": note}
    connection.execute(AUDIT.insert(), [row])
