"""Which tool names are a dimension of rollups: names are the caller's to choose, so there may be any number of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from collector.counting import Name
from collector.statements import Inserting, Plain, adding, fresh_version, table
from schemas.rollups import DAY_NS, MINUTE_S, SECOND_NS
from schemas.tables import CallRow, PendingBucketRow

ToolName = tuple[str, str]


class Naming:
    """The rule for tool names, in an open transaction; `noted_ns` is since when the bucket waits that is being rolled up."""

    def __init__(self, connection: Connection, plain: Plain, inserting: Inserting, names_a_day: int, noted_ns: int) -> None:
        self._connection = connection
        self._inserting = inserting
        self._names_a_day = names_a_day
        self._noted_ns = noted_ns
        self._driver: Any = connection.connection.driver_connection
        self._mark = plain.marks(1)[1:-1]

    def folded(self, day_ns: int, seen: Mapping[ToolName, Name]) -> set[ToolName]:
        """The (server, tool) of a bucket that are no dimension.

        The rule: on a UTC day a server's tool names are dimensions if they are among its first `names_a_day` of the day, in order of
        the start of their first call and then of the name, or if they have succeeded (partly, too) on any day. So it depends on the
        calls and not on their order of arrival; where a call makes another name change sides, the buckets of that name are noted.
        """
        news = {server for server, _ in self._learn([name for name in seen if seen[name].succeeded], day_ns)}
        named = self._marked("SELECT first_ns, named FROM tool_name WHERE day_ns = ? AND server = ? AND tool = ?")
        folded: set[ToolName] = set()
        new: set[ToolName] = set()
        for name in seen:
            first_ns = seen[name].first_ns
            row = self._driver.execute(named, (day_ns, *name)).fetchone()
            if row is None:
                add = self._marked("INSERT INTO tool_name (day_ns, server, tool, first_ns, named) VALUES (?, ?, ?, ?, ?)")
                self._driver.execute(add, (day_ns, *name, first_ns, True))
                new.add(name)
                news.add(name[0])
            elif first_ns < row[0]:
                earlier = self._marked("UPDATE tool_name SET first_ns = ? WHERE day_ns = ? AND server = ? AND tool = ?")
                self._driver.execute(earlier, (first_ns, day_ns, *name))
                news.add(name[0])
            if row is not None and not row[1]:
                folded.add(name)
        for server in news:
            for tool, is_named in self._decide(day_ns, server).items():
                name = (server, tool)
                (folded.discard if is_named else folded.add)(name)
                if name not in new:
                    self._note(name, day_ns)
        return folded & seen.keys()

    def _learn(self, succeeded: Iterable[ToolName], day_ns: int) -> list[ToolName]:
        """Keep in mind which names have succeeded. Returns those that are new, and names them on the other days."""
        learnt = []
        for name in succeeded:
            add = self._marked("INSERT INTO known_tool (server, tool) VALUES (?, ?) ON CONFLICT DO NOTHING")
            if not self._driver.execute(add, name).rowcount:
                continue
            learnt.append(name)
            others = self._marked("SELECT day_ns FROM tool_name WHERE server = ? AND tool = ? AND NOT named AND day_ns <> ?")
            for (other_ns,) in self._driver.execute(others, (*name, day_ns)).fetchall():
                self._set_named(other_ns, name, True)
                self._note(name, other_ns)
        return learnt

    def _decide(self, day_ns: int, server: str) -> dict[str, bool]:
        """Apply the rule to a server's names of a day. Returns the names that changed sides, new ones that are folded included."""
        values = (day_ns, server)
        [(count,)] = self._driver.execute(self._marked("SELECT COUNT(*) FROM tool_name WHERE day_ns = ? AND server = ?"), values)
        if count <= self._names_a_day:
            return {}
        of_day = "FROM tool_name WHERE day_ns = ? AND server = ?"
        first = self._driver.execute(
            self._marked(f"SELECT tool {of_day} ORDER BY first_ns, tool LIMIT {self._names_a_day}"), values
        ).fetchall()
        known = self._driver.execute(
            self._marked(f"SELECT tool FROM known_tool WHERE server = ? AND tool IN (SELECT tool {of_day})"), (server, *values)
        ).fetchall()
        now = self._driver.execute(self._marked(f"SELECT tool {of_day} AND named"), values).fetchall()
        should, are = {row[0] for row in (*first, *known)}, {row[0] for row in now}
        for tool in should ^ are:
            self._set_named(day_ns, (server, tool), tool in should)
        return {tool: tool in should for tool in should ^ are}

    def _set_named(self, day_ns: int, name: ToolName, named: bool) -> None:
        change = self._marked("UPDATE tool_name SET named = ? WHERE day_ns = ? AND server = ? AND tool = ?")
        self._driver.execute(change, (named, day_ns, *name))

    def _note(self, name: ToolName, day_ns: int) -> None:
        """Note the minutes of a day that hold calls of a name."""
        call = table(CallRow).c
        minute = call.start_ns - call.start_ns % (MINUTE_S * SECOND_NS)
        of_day = (call.start_ns >= day_ns, call.start_ns < day_ns + DAY_NS)
        found = self._connection.execute(select(minute).distinct().where(call.server == name[0], call.tool == name[1], *of_day))
        notes = [{"bucket_ns": bucket, "noted_ns": self._noted_ns, "version": fresh_version()} for bucket in sorted(found.scalars())]
        if notes:
            self._connection.execute(adding(self._inserting, PendingBucketRow, ("bucket_ns",), ("version",)), notes)

    def _marked(self, sql: str) -> str:
        return sql.replace("?", self._mark)
