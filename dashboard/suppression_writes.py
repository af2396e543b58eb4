"""What people say of suspects: that a tool is meant to answer as it does; each with a row in the audit."""

import secrets

from sqlalchemy import Connection, Engine, delete

from dashboard.alert_queries import AUDIT
from dashboard.suppression_queries import BY_DESIGN
from schemas.suppression import BY_DESIGN_NS, ByDesign


def mark(engine: Engine, server: str, tool: str, note: str, who: str, now_ns: int) -> ByDesign:
    """Mark a tool as by design, for 90 days from now; a mark that it has is replaced."""
    made = ByDesign(server, tool, note, who, now_ns, now_ns + BY_DESIGN_NS)
    with engine.begin() as connection:
        connection.execute(delete(BY_DESIGN).where(BY_DESIGN.c.server == server, BY_DESIGN.c.tool == tool))
        connection.execute(BY_DESIGN.insert(), [made.record()])
        _note(connection, now_ns, who, "mark as by design", f"{server}/{tool}", note)
    return made


def unmark(engine: Engine, server: str, tool: str, who: str, now_ns: int) -> bool:
    """Take the mark off a tool. Returns whether it had one that holds."""
    with engine.begin() as connection:
        holds = (BY_DESIGN.c.server == server, BY_DESIGN.c.tool == tool, BY_DESIGN.c.expires_ns > now_ns)
        gone = connection.execute(delete(BY_DESIGN).where(*holds)).rowcount
        if gone:
            _note(connection, now_ns, who, "no longer by design", f"{server}/{tool}", "")
    return bool(gone)


def _note(connection: Connection, now_ns: int, who: str, what: str, subject: str, note: str) -> None:
    row = {"id": secrets.token_hex(8), "at_ns": now_ns, "who": who, "what": what, "subject": subject, "note": note}
    connection.execute(AUDIT.insert(), [row])
