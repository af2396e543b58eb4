"""How Alembic runs the migrations: on the engine that database.py hands over, in one transaction, without an ini file."""

from alembic import context
from sqlmodel import SQLModel

import schemas.tables  # noqa: F401  (declares the tables)

engine = context.config.attributes["engine"]
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=SQLModel.metadata, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()
