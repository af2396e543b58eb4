"""How the database would go about the statements that it is asked, as it says itself."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def statements_of(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """Every statement that reaches the database in the block, with (the first of) its parameters."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith(("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")):
            seen.append((statement, parameters[0] if isinstance(parameters, list) else parameters))

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


def plan(engine: Engine, statement: str, parameters: Any) -> str:
    """The plan of a statement. PostgreSQL must find a way around reading whole tables, which it prefers as long as they are small."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return "; ".join(row[3] for row in rows)
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
        return "\n".join(row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters))


def whole_tables(plan: str) -> set[str]:
    """The tables that a plan of PostgreSQL reads from end to end: row by row, or along an index of which it needs more than an end."""
    found = set()
    lines = plan.split("\n")
    for number, line in enumerate(lines):
        scan = re.search(r"(Seq|Index|Index Only) Scan(?: Backward)?(?: using \S+)? on (\S+)", line)
        if scan is None:
            continue
        by_key = "Index Cond:" in "".join(lines[number + 1 : number + 2])
        an_end = scan[1] != "Seq" and number > 0 and lines[number - 1].strip(" ->").startswith("Limit")
        if not by_key and not an_end:
            found.add(scan[2])
    return found
