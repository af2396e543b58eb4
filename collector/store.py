"""Every SQL statement of the collector, for SQLite and PostgreSQL alike; each public method is one transaction."""

import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, func, select, update

from collector.statements import Plain, adding, chunks, insert_for, table
from schemas.spans import Ancestor, Decoded, ToolSpan
from schemas.tables import AncestryRow, CounterRow, IntakeRow, MetaRow, RefusalRow, ToolSpanRow

HOUR_NS = 3_600 * 10**9
OTHER = "(other)"
# Emitters (service, scope, version) that one hour tells apart; hostile names beyond it are counted together.
MOST_EMITTERS = 1000


class Store:
    """The database as the collector writes it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert = insert_for(engine)
        self._plain = Plain(engine)
        places = [column.name for column in table(AncestryRow).columns]
        changed = [name for name in places if name not in ("trace_id", "span_id", "kept")]
        # Of two copies the later end counts, then the rest of what they say: the same one wins in any order.
        told = ("end_ns", *(name for name in changed if name not in ("end_ns", "received_ns")))
        new, old = (", ".join(_comparable(row, name) for name in told) for row in ("excluded", "ancestry"))
        self._later_place = (
            f"ON CONFLICT (trace_id, span_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in changed)} "
            f"WHERE ({new}) > ({old})"
        )

    def hash_key(self) -> bytes:
        """The key of the argument hashes, made once per database so that all collectors agree."""
        meta = table(MetaRow)
        with self._engine.begin() as connection:
            fresh = {"name": "hash_key", "value": secrets.token_hex(32)}
            connection.execute(self._insert(meta).values(fresh).on_conflict_do_nothing())
            found = connection.execute(select(meta.c.value).where(meta.c.name == "hash_key")).scalar_one()
        return bytes.fromhex(found)

    def ping(self) -> None:
        """Read one row. Raises sqlalchemy.exc.SQLAlchemyError if the database does not answer."""
        with self._engine.connect().execution_options(read_only=True) as connection:
            connection.execute(select(table(MetaRow).c.name).limit(1)).first()

    def insert(self, batch: Sequence[Decoded], now_ns: int) -> None:
        """Store everything of a batch in one transaction, together with the note that its traces are to be settled.

        Idempotent: a copy of a stored span changes nothing; of two that differ the one with the later end is kept, then the larger,
        then the one with the higher hash. Returns after the commit; raises sqlalchemy.exc.SQLAlchemyError with nothing stored.
        """
        spans = [span for decoded in batch for span in decoded.tool_spans]
        places = [place for decoded in batch for place in decoded.ancestors]
        with self._engine.begin() as connection:
            inserted = self._plain.insert(connection, ToolSpanRow, spans, "ON CONFLICT (trace_id, span_id) DO NOTHING")
            conflicting = self._keep_winners(connection, spans) if inserted < len(spans) else 0
            # Of one row, one statement may change only one copy (PostgreSQL insists), so the later ones go alone.
            for run in _runs_of_distinct(places):
                self._plain.insert(connection, AncestryRow, [(*place, False) for place in run], self._later_place)
            self._plain.note_traces(connection, {item[0] for item in spans} | {item[0] for item in places}, now_ns)
            counts = {
                "received_spans": sum(decoded.received for decoded in batch),
                "tool_spans": inserted,
                "ignored_spans": sum(one.ignored_spans for decoded in batch for one in decoded.intake),
                # Of requests that could not be read no one knows the spans: they are counted among the refusals alone.
                "refused_spans": sum(one.count for decoded in batch if decoded.received for one in decoded.refusals),
                "duplicate_spans": len(spans) - inserted - conflicting,
                "conflicting_spans": conflicting,
            }
            counted = [{"name": name, "value": value} for name, value in counts.items()]
            connection.execute(adding(self._insert, CounterRow, ("name",), ("value",)), counted)
            self._count_intake(connection, batch, now_ns)
            self._count_refusals(connection, batch, now_ns)

    def _keep_winners(self, connection: Connection, spans: Sequence[ToolSpan]) -> int:
        """Replace stored copies that lose against one of these. Returns how many of these differ from what was stored."""
        stored: dict[tuple[bytes, bytes], tuple[int, int, int]] = {}
        columns = table(ToolSpanRow).c
        wanted = {(span.trace_id, span.span_id) for span in spans}
        for ids in chunks(sorted({span.trace_id for span in spans})):
            rows = connection.execute(
                select(columns.trace_id, columns.span_id, columns.end_ns, columns.content_size, columns.content_hash).where(
                    columns.trace_id.in_(ids)
                )
            )
            stored.update({(row[0], row[1]): (row[2], row[3], row[4]) for row in rows if (row[0], row[1]) in wanted})
        conflicting = 0
        winners: dict[tuple[bytes, bytes], tuple[tuple[int, int, int], ToolSpan]] = {}
        for span in spans:
            key, rank = (span.trace_id, span.span_id), (span.end_ns, span.content_size, span.content_hash)
            conflicting += rank[2] != stored[key][2]
            if rank > (winners[key][0] if key in winners else stored[key]):
                winners[key] = rank, span
        for span in (span for _, span in winners.values()):
            values = {column.name: value for column, value in zip(columns, span, strict=True)}
            connection.execute(
                update(table(ToolSpanRow)).where(columns.trace_id == span.trace_id, columns.span_id == span.span_id).values(values)
            )
        return conflicting

    def _count_intake(self, connection: Connection, batch: Sequence[Decoded], now_ns: int) -> None:
        hour = now_ns - now_ns % HOUR_NS
        columns = table(IntakeRow).c
        emitters = select(columns.service, columns.scope, columns.scope_version).where(columns.hour_ns == hour)
        crowded = (connection.execute(select(func.count()).select_from(emitters.subquery())).scalar_one()) >= MOST_EMITTERS
        known = {tuple(row) for row in connection.execute(emitters)} if crowded else set()
        rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        for one in (one for decoded in batch for one in decoded.intake):
            key = (one.service, one.scope, one.scope_version)
            if (crowded and key not in known) or (len(rows) >= MOST_EMITTERS and key not in rows):
                key = (OTHER, "", "")
            empty = {
                "hour_ns": hour,
                "service": key[0],
                "scope": key[1],
                "scope_version": key[2],
                "last_ns": now_ns,
                "ignored_sample": "",
            }
            row = rows.setdefault(key, {**empty, "tool_spans": 0, "ignored_spans": 0, "skewed_spans": 0})
            for name in ("tool_spans", "ignored_spans", "skewed_spans"):
                row[name] += getattr(one, name)
            row["ignored_sample"] = one.ignored_sample or row["ignored_sample"]
        if rows:
            statement = self._insert(table(IntakeRow))
            new = statement.excluded
            added = {name: columns[name] + new[name] for name in ("tool_spans", "ignored_spans", "skewed_spans")}
            changed = {
                **added,
                "last_ns": new.last_ns,
                "ignored_sample": func.coalesce(func.nullif(new.ignored_sample, ""), columns.ignored_sample),
            }
            keys = ["hour_ns", "service", "scope", "scope_version"]
            connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), [rows[key] for key in sorted(rows)])

    def _count_refusals(self, connection: Connection, batch: Sequence[Decoded], now_ns: int) -> None:
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for one in (one for decoded in batch for one in decoded.refusals):
            empty = {
                "reason": one.reason,
                "service": one.service,
                "count": 0,
                "first_ns": now_ns,
                "last_ns": now_ns,
                "sample": one.sample,
            }
            rows.setdefault((one.reason, one.service), empty)["count"] += one.count
        if rows:
            columns, statement = table(RefusalRow).c, self._insert(table(RefusalRow))
            changed = {
                "count": columns["count"] + statement.excluded["count"],
                "last_ns": now_ns,
                "sample": statement.excluded.sample,
            }
            statement = statement.on_conflict_do_update(index_elements=["reason", "service"], set_=changed)
            connection.execute(statement, [rows[key] for key in sorted(rows)])


def _comparable(row: str, name: str) -> str:
    """A column of a tree place that compares with every value, also where it is null."""
    empty = {"http_status": "0", "evidence": "''"}.get(name)
    return f"coalesce({row}.{name}, {empty})" if empty else f"{row}.{name}"


def _runs_of_distinct(places: Sequence[Ancestor]) -> list[list[Ancestor]]:
    """The places in runs that name each span once: all firsts, all seconds…; nearly always one run."""
    runs: list[list[Ancestor]] = []
    seen: dict[tuple[bytes, bytes], int] = {}
    for place in places:
        nth = seen.get((place.trace_id, place.span_id), 0)
        seen[(place.trace_id, place.span_id)] = nth + 1
        if nth == len(runs):
            runs.append([])
        runs[nth].append(place)
    return runs
