"""The SQL tables of silent suppression and error contracts: what was found, what is meant to be so (tables.py has the others)."""

from sqlalchemy import BigInteger, Float, Index, Text, text
from sqlmodel import Field, SQLModel

from schemas.tables import CallRow


class SuspectRow(SQLModel, table=True):
    """A tool that may report failures as empty successes, as the last evaluation that found it says (schemas/suppression.py)."""

    __tablename__ = "suspect"

    environment: str = Field(sa_type=Text, primary_key=True)
    server: str = Field(sa_type=Text, primary_key=True)
    tool: str = Field(sa_type=Text, primary_key=True)
    class_: str = Field(sa_type=Text)
    q: float = Field(sa_type=Float)
    empty: int = Field(sa_type=BigInteger)
    known: int = Field(sa_type=BigInteger)
    failure: int = Field(sa_type=BigInteger)
    completed: int = Field(sa_type=BigInteger)
    signals: str = Field(sa_type=Text)  # JSON array
    found_ns: int = Field(sa_type=BigInteger)  # when it was found first, without a break since
    seen_ns: int = Field(sa_type=BigInteger)  # when it was found last


class ContractRow(SQLModel, table=True):
    """How much the failures of a tool say, as the last evaluation that had any found (schemas/contracts.py)."""

    __tablename__ = "contract"

    environment: str = Field(sa_type=Text, primary_key=True)
    server: str = Field(sa_type=Text, primary_key=True)
    tool: str = Field(sa_type=Text, primary_key=True)
    failures: int = Field(sa_type=BigInteger)
    findings: str = Field(sa_type=Text)  # JSON array
    seen_ns: int = Field(sa_type=BigInteger)

    # The page of a tool looks its own up.
    __table_args__ = (Index("ix_contract_tool_server", "tool", "server"),)


class ByDesignRow(SQLModel, table=True):
    """A tool of which somebody said that it is meant to answer as it does, and why, until when."""

    __tablename__ = "by_design"

    server: str = Field(sa_type=Text, primary_key=True)
    tool: str = Field(sa_type=Text, primary_key=True)
    note: str = Field(sa_type=Text)
    who: str = Field(sa_type=Text)
    marked_ns: int = Field(sa_type=BigInteger)
    expires_ns: int = Field(sa_type=BigInteger)


# The few calls that suppression looks at one by one, in order of start: those with a failed span inside, and those asked again. The
# conditions stand in the statements word for word, which is how SQLite knows the index again.
CHILD_FAILED, ASKED_AGAIN = text("failed_children <> '[]'"), text("link = 'repeat'")
_START = CallRow.__table__.c.start_ns  # type: ignore[attr-defined]
Index("ix_call_child_failed", _START, sqlite_where=CHILD_FAILED, postgresql_where=CHILD_FAILED)
Index("ix_call_asked_again", _START, sqlite_where=ASKED_AGAIN, postgresql_where=ASKED_AGAIN)
