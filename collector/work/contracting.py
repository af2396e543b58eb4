"""How much the failures of each tool say, in a range of time: reads the newest of them, and the spans that told of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import orjson

from collector.core.contracts import quality, tells
from collector.core.reading import Reading, read
from collector.suppression_counts import QUARTER_NS, Failed, SuppressionCounts, call_name
from schemas.contracts import ContractQuality
from schemas.rollups import OTHER_TOOLS
from schemas.spans import ToolSpan
from schemas.vocabulary import Hit, lexicon

# Failures that are looked at of a tool, the newest, and of how many tools, those with most failures.
LOOKED_AT = 50
MOST_TOOLS = 200


def find_contract_faults(
    reader: SuppressionCounts, start_ns: int, end_ns: int, words: Mapping[str, Hit] | None = None
) -> list[ContractQuality]:
    """How much the newest failures of each tool in a range say, those with most faults first. Raises SQLAlchemyError.

    `words` are the attribute names to read spans by, the built-in ones if absent. Failures of which no answer came are left out: a
    tool that was not reached cannot say anything. Of spans that have aged out, what the call says is left.
    """
    words = lexicon({}) if words is None else words
    series = {one.id: one for one in reader.series() if one.tool != OTHER_TOOLS}
    quarters: dict[tuple[str, str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for series_id, quarter_ns, failures in reader.failures_by_quarter(start_ns - start_ns % QUARTER_NS, end_ns):
        one = series.get(series_id)
        if one is not None:
            quarters[one.environment, one.server, one.tool][quarter_ns] += failures
    most = sorted(quarters, key=lambda place: (-sum(quarters[place].values()), place))[:MOST_TOOLS]
    found = []
    for place in most:
        held = ((max(at, start_ns), min(at + QUARTER_NS, end_ns)) for at in sorted(quarters[place], reverse=True))
        failed = [call for call in reader.failures(place, held, LOOKED_AT) if call.channel != "transport"]
        if failed:
            spans = reader.spans(key for call in failed for key in _keys(call))
            found.append(quality(*place, [tells(_record(call), _readings(call, spans, words)) for call in failed]))
    return sorted(found, key=lambda one: one.order)


def _record(call: Failed) -> dict[str, object]:
    return {**call._asdict(), "call": call_name(call.trace_id, call.call_id)}


def _keys(call: Failed) -> Iterable[tuple[bytes, bytes]]:
    return ((call.trace_id, bytes.fromhex(view["span_id"])) for view in orjson.loads(call.views))


def _readings(call: Failed, spans: Mapping[tuple[bytes, bytes], ToolSpan], words: Mapping[str, Hit]) -> list[Reading]:
    return [read(spans[key], words) for key in _keys(call) if key in spans]
