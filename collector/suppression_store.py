"""The statements that store what silent suppression and error contracts were found, and say when that was last done."""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine, delete, select

from collector.statements import insert_for, table
from schemas import contracts, suppression
from schemas.contracts import ContractQuality
from schemas.suppression import EVALUATED, Suspect
from schemas.suppression_tables import ByDesignRow, ContractRow, SuspectRow
from schemas.tables import MetaRow

PLACE = ["environment", "server", "tool"]


class SuppressionStore:
    """What was found, as rows. Each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert = insert_for(engine)

    def evaluated_ns(self) -> int | None:
        """When it was looked for last; None for never."""
        meta = table(MetaRow).c
        with self._engine.connect().execution_options(read_only=True) as connection:
            said = connection.execute(select(meta.value).where(meta.name == EVALUATED)).scalar()
        return None if said is None else int(json.loads(said)["at_ns"])

    def commit(
        self, suspects: Iterable[Suspect], qualities: Iterable[ContractQuality], from_ns: int, to_ns: int, now_ns: int, forget_ns: int
    ) -> None:
        """Store what was found at a moment in a range. What was not found again stays as it was, until it was found before `forget_ns`."""
        found = table(SuspectRow).c
        with self._engine.begin() as connection:
            row = connection.execute(select(table(MetaRow).c.value).where(table(MetaRow).c.name == EVALUATED)).scalar()
            last_ns = 0 if row is None else int(json.loads(row)["at_ns"])
            known = {
                tuple(one[:3]): one[3]
                for one in connection.execute(select(*(found[name] for name in PLACE), found.found_ns).where(found.seen_ns >= last_ns))
            }
            for suspect in suspects:
                place = (suspect.environment, suspect.server, suspect.tool)
                counts = {name: getattr(suspect, name) for name in ("class_", "q", "empty", "known", "failure", "completed")}
                written = {**counts, "signals": suppression.written(suspect.signals), "seen_ns": now_ns}
                self._put(connection, SuspectRow, place, {**written, "found_ns": known.get(place, now_ns)})
            for one in qualities:
                written = {"failures": one.failures, "findings": contracts.written(one.findings), "seen_ns": now_ns}
                self._put(connection, ContractRow, (one.environment, one.server, one.tool), written)
            for model in (SuspectRow, ContractRow):
                connection.execute(delete(table(model)).where(table(model).c.seen_ns < forget_ns))
            connection.execute(delete(table(ByDesignRow)).where(table(ByDesignRow).c.expires_ns < forget_ns))
            said = json.dumps({"at_ns": now_ns, "from_ns": from_ns, "to_ns": to_ns})
            noted = self._insert(table(MetaRow)).values(name=EVALUATED, value=said)
            connection.execute(noted.on_conflict_do_update(index_elements=["name"], set_={"value": said}))

    def _put(self, connection: Any, model: Any, place: tuple[str, str, str], values: dict[str, Any]) -> None:
        insert = self._insert(table(model)).values(**dict(zip(PLACE, place, strict=True)), **values)
        connection.execute(insert.on_conflict_do_update(index_elements=PLACE, set_=values))
