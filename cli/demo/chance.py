"""What goes wrong in the demo, and when: everything invented is in these tables, drawn from one seed."""

import random
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

# Tool -> what may become of a call -> how often, in parts of the row's sum.
ODDS: Mapping[str, Mapping[str, int]] = {
    "get_order": {"data": 88, "validation": 5, "transient": 3, "permission": 1, "crash": 1, "slow": 2},
    "list_orders": {"data": 66, "empty_list": 22, "partial": 6, "transient": 4, "slow": 2},
    "update_shipping_address": {"data": 78, "business": 10, "validation": 9, "transient": 3},
    "search_docs": {"data": 58, "empty_list": 9, "empty_phrase": 8, "empty_text": 4, "swallowed": 9, "transient": 8, "slow": 4},
    "fetch_page": {"data": 80, "permission": 9, "validation": 5, "transient": 6},
    "list_recent_changes": {"data": 38, "empty_items": 60, "transient": 2},
    "refund_payment": {"data": 72, "business": 14, "permission": 6, "transient": 6, "validation": 2},
    "get_invoice": {"data": 84, "crash": 6, "empty_items": 6, "transient": 4},
    "charge_card": {"data": 80, "business": 12, "transient": 6, "validation": 2},
}

# Tools whose backend goes down now and then, all at once.
GATEWAY = frozenset({"refund_payment", "charge_card"})
DOWN_ODDS: Mapping[str, int] = {"transient": 92, "data": 8}

FIRST_OUTAGE_S = (60, 90)
BETWEEN_OUTAGES_S = (150, 300)
OUTAGE_S = (45, 90)
OUTAGES = 2000  # some days


class Chance:
    """Draws what becomes of calls. `started_s` and every `now_s` are on the same clock."""

    def __init__(self, seed: int, started_s: float) -> None:
        self._draw = random.Random(seed)
        dates = random.Random(seed + 1)
        gaps = [dates.uniform(*FIRST_OUTAGE_S)]
        for _ in range(OUTAGES):
            gaps += [dates.uniform(*OUTAGE_S), dates.uniform(*BETWEEN_OUTAGES_S)]
        # Edges: the backend goes down at the 1st, 3rd, 5th…, and comes back at the others.
        self._edges = [started_s + edge for edge in accumulate(gaps)]

    def gateway_is_down(self, now_s: float) -> bool:
        """Whether the payment gateway answers nobody at this time."""
        return bisect_right(self._edges, now_s) % 2 == 1

    def fate(self, tool: str, now_s: float) -> str:
        """What becomes of a call of a tool that starts now."""
        odds = DOWN_ODDS if tool in GATEWAY and self.gateway_is_down(now_s) else ODDS[tool]
        return self._draw.choices(list(odds), list(odds.values()))[0]

    def seconds(self, typical: float) -> float:
        """How long something takes that typically takes so long: rarely much longer, as real services do."""
        return min(self._draw.lognormvariate(0, 0.6) * typical, typical * 12)
