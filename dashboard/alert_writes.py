"""What people change on alerts, each with a row in the audit; the only writes of the dashboard."""

import json
import secrets
from collections.abc import Mapping

from sqlalchemy import Connection, Engine, select, update

from dashboard.alert_queries import ALERT, AUDIT, CHANNEL, DELIVERY, SILENCE
from schemas.alerting import DUE, RESOLVED, TEST, message_of_test


def acknowledge(engine: Engine, alert_id: str, who: str, note: str, now_ns: int) -> bool:
    """Note that somebody has an alert. Returns whether there is one that is not over."""
    with engine.begin() as connection:
        changed = connection.execute(
            update(ALERT)
            .where(ALERT.c.id == alert_id, ALERT.c.state != RESOLVED)
            .values(acknowledged_by=who, acknowledged_note=note, acknowledged_ns=now_ns)
        )
        if changed.rowcount:
            _note(connection, now_ns, who, "acknowledge", alert_id, note)
    return bool(changed.rowcount)


def silence(engine: Engine, matchers: Mapping[str, str], from_ns: int, to_ns: int, who: str, why: str, now_ns: int) -> str:
    """Silence what matches for a while. Returns the id of the silence."""
    made = secrets.token_hex(8)
    text = json.dumps(dict(matchers), sort_keys=True)
    with engine.begin() as connection:
        row = {"id": made, "matchers": text, "from_ns": from_ns, "to_ns": to_ns, "created_by": who, "reason": why, "created_ns": now_ns}
        connection.execute(SILENCE.insert(), [row])
        _note(connection, now_ns, who, "silence", made, f"{text}: {why}")
    return made


def end_silence(engine: Engine, silence_id: str, who: str, now_ns: int) -> bool:
    """End a silence now. Returns whether there is one that is not over."""
    with engine.begin() as connection:
        live = (SILENCE.c.id == silence_id, SILENCE.c.to_ns > now_ns)
        changed = connection.execute(update(SILENCE).where(*live).values(to_ns=now_ns))
        if changed.rowcount:
            _note(connection, now_ns, who, "end silence", silence_id, "")
    return bool(changed.rowcount)


def send_test(engine: Engine, channel: str, who: str, site: str, now_ns: int) -> bool:
    """Put a test into the outbox of a channel. Returns whether there is such a channel."""
    made = secrets.token_hex(8)
    with engine.begin() as connection:
        if connection.execute(select(CHANNEL.c.name).where(CHANNEL.c.name == channel)).first() is None:
            return False
        row = {
            "id": made,
            "alert_id": "",
            "channel": channel,
            "event": TEST,
            "created_ns": now_ns,
            "state": DUE,
            "attempts": 0,
            "next_ns": now_ns,
            "error": "",
            "body": json.dumps(message_of_test(site, now_ns)),
        }
        connection.execute(DELIVERY.insert(), [row])
        _note(connection, now_ns, who, "test", channel, "")
    return True


def _note(connection: Connection, now_ns: int, who: str, what: str, subject: str, note: str) -> None:
    row = {"id": secrets.token_hex(8), "at_ns": now_ns, "who": who, "what": what, "subject": subject, "note": note}
    connection.execute(AUDIT.insert(), [row])
