"""The SQL tables of weekly reviews: what was found in each week, what is to be done, and what people noted (tables.py has the others)."""

from sqlalchemy import BigInteger, Index, Text
from sqlmodel import Field, SQLModel

from schemas.tables import partial_index


class ReviewRow(SQLModel, table=True):
    """A review of a week in a zone, as it was made. Revision 0 is that of a week that is not closed, and is written over."""

    __tablename__ = "review"

    zone: str = Field(sa_type=Text, primary_key=True)
    week: str = Field(sa_type=Text, primary_key=True)  # as 2026-W48: in the order of the alphabet they are in that of time
    revision: int = Field(primary_key=True)
    created_ns: int = Field(sa_type=BigInteger)
    seen: str = Field(sa_type=Text)  # JSON: what was counted when it was made; where that changes, a new revision is due
    content: str = Field(sa_type=Text)  # JSON object (schemas/reviewing.py)


class ReviewActionRow(SQLModel, table=True):
    """Something to do, noted under the review of a week and carried over until it is closed."""

    __tablename__ = "review_action"

    id: str = Field(sa_type=Text, primary_key=True)
    zone: str = Field(sa_type=Text)
    week: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    owner: str = Field(sa_type=Text)
    due: str = Field(sa_type=Text)  # a date as 2026-12-24, or ''
    created_ns: int = Field(sa_type=BigInteger)
    closed_ns: int | None = Field(sa_type=BigInteger)
    closed_by: str = Field(sa_type=Text)

    __table_args__ = (
        Index("ix_review_action_zone_week", "zone", "week"),
        partial_index("ix_review_action_closed_ns", "closed_ns"),
    )


class ReviewNoteRow(SQLModel, table=True):
    """A note under the review of a week."""

    __tablename__ = "review_note"

    id: str = Field(sa_type=Text, primary_key=True)
    zone: str = Field(sa_type=Text)
    week: str = Field(sa_type=Text)
    who: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    at_ns: int = Field(sa_type=BigInteger)

    __table_args__ = (Index("ix_review_note_zone_week", "zone", "week"),)
