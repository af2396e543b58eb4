"""SQL conditions on where a call or an operation took place: the same for every table that has environment, server, client and tool."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Table, exists, or_
from sqlmodel import SQLModel

from dashboard.filters import Filter
from dashboard.moments import DAY_NS
from schemas import tables  # noqa: F401 - declares the tables in the metadata
from schemas.rollups import OTHER_TOOLS

TOOL_NAME: Table = SQLModel.metadata.tables["tool_name"]


def placed(table: Table, question: Filter) -> Iterator[ColumnElement[bool]]:
    """What a question asks of environment, server and client, and whether the tool's name is folded if it asks for `(other)`."""
    for name in ("environment", "server", "client"):
        if (value := getattr(question, name)) is not None:
            yield table.c[name] == value
    if question.tool == OTHER_TOOLS:
        yield or_(table.c.tool == OTHER_TOOLS, exists().where(*_same_day(table), TOOL_NAME.c.named.is_(False)))


def _same_day(table: Table) -> tuple[ColumnElement[bool], ...]:
    day_ns = table.c.start_ns - table.c.start_ns % DAY_NS
    return TOOL_NAME.c.day_ns == day_ns, TOOL_NAME.c.server == table.c.server, TOOL_NAME.c.tool == table.c.tool
