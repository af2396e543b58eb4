"""The statements by which one worker of several does a periodic work: it has the lease until it gives it back, or is not heard of."""

from sqlalchemy import Engine, delete

from collector.statements import insert_for, table
from schemas.tables import LeaseRow


class Leases:
    """The leases of one worker; `holder` is a name that no other has. Each method is one transaction."""

    def __init__(self, engine: Engine, holder: str) -> None:
        self._engine = engine
        self._insert = insert_for(engine)
        self._holder = holder

    def take(self, work: str, now_ns: int, until_ns: int) -> bool:
        """Take or renew the lease of a work, until then. Returns whether this worker has it: else another does, and is not yet due."""
        lease = table(LeaseRow).c
        insert = self._insert(table(LeaseRow)).values(name=work, holder=self._holder, until_ns=until_ns)
        free = (lease.holder == self._holder) | (lease.until_ns <= now_ns)
        changed = {"holder": self._holder, "until_ns": until_ns}
        taken = insert.on_conflict_do_update(index_elements=["name"], set_=changed, where=free).returning(lease.name)
        with self._engine.begin() as connection:
            return connection.execute(taken).first() is not None

    def release(self) -> None:
        """Give back what this worker has."""
        with self._engine.begin() as connection:
            connection.execute(delete(table(LeaseRow)).where(table(LeaseRow).c.holder == self._holder))
