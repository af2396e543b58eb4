"""How Alembic runs the migrations: in the transaction that database.py hands over, without an ini file."""

from alembic import context
from sqlmodel import SQLModel

import schemas.alert_tables
import schemas.retry_tables
import schemas.review_tables
import schemas.suppression_tables
import schemas.tables  # noqa: F401  (they declare the tables)

# All of them lie in the transaction that is open already.
context.configure(connection=context.config.attributes["connection"], target_metadata=SQLModel.metadata)
context.run_migrations()
