"""What the quality of a tool's error contract is: how much its failures say to the agent that has to decide what to do next."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

CATEGORY, RETRYABLE, MESSAGE, CONTRADICTION = "category", "retryable", "message", "no_contradiction"
CUSTOMER, ATTEMPTED, PARTIAL, HONEST_EMPTY = "customer_message", "attempted_query", "partial_results", "honest_empty"
# What an error is asked for, in order: of every failure the first four, of business errors the fifth, and the next two where the tool
# sends them at all. The last are failures that are none.
ASKED = (CATEGORY, RETRYABLE, MESSAGE, CONTRADICTION, CUSTOMER, ATTEMPTED, PARTIAL, HONEST_EMPTY)

NAMES: Mapping[str, str] = {
    CATEGORY: "Category",
    RETRYABLE: "Retryable",
    MESSAGE: "Message that tells",
    CONTRADICTION: "No contradiction",
    CUSTOMER: "Customer message",
    ATTEMPTED: "Attempted query",
    PARTIAL: "Partial results",
    HONEST_EMPTY: "Real failures",
}
CHANGES: Mapping[str, str] = {
    CATEGORY: "Declare the category: transient, validation, business or permission.",
    RETRYABLE: "Say whether a retry can help, so that agents neither give up too early nor repeat in vain.",
    MESSAGE: "Say what failed and with what, instead of a text that fits every failure.",
    CONTRADICTION: "Let the fields agree: isError with the category, and isRetryable true for transient errors only.",
    CUSTOMER: "Add a customerMessage to business errors: what the customer may be told.",
    ATTEMPTED: "Send attemptedQuery with every error, as some of them do: the agent sees what to change.",
    PARTIAL: "Send partialResults, or an empty list, with every error, as some of them do: what was found is not lost.",
    HONEST_EMPTY: "Answer with an empty result: to find nothing is no error, and agents retry errors.",
}


@dataclass(frozen=True, slots=True)
class ContractFinding:
    """One thing that failures of a tool are asked for: `k` of `n` have it, and of those that have not, one as an example.

    `example` is a call as addresses of pages name it (trace and call id), `suggested` an error body for it as JSON text, made of what the
    call itself says; both are '' where nothing is missing.
    """

    id: str
    k: int
    n: int
    example: str = ""
    suggested: str = ""

    @property
    def missing(self) -> int:
        """How many failures do not have it."""
        return self.n - self.k

    @property
    def says(self) -> str:
        """The finding in a sentence with its numbers."""
        return f"{NAMES[self.id]}: {self.k:,} of {self.n:,} failures."

    @property
    def change(self) -> str:
        """What to change; '' where nothing is missing."""
        return CHANGES[self.id] if self.missing else ""

    @property
    def pretty(self) -> str:
        """The suggested error body over several lines; '' where nothing is missing."""
        return json.dumps(json.loads(self.suggested), indent=2) if self.suggested else ""

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "id": self.id,
            "k": self.k,
            "n": self.n,
            "ratio": self.k / self.n if self.n else None,
            "change": self.change,
            "example": self.example or None,
            "suggested": json.loads(self.suggested) if self.suggested else None,
        }


@dataclass(frozen=True, slots=True)
class ContractQuality:
    """What the newest `failures` of a tool that were looked at say; `findings` in the order of ASKED, those that apply."""

    environment: str
    server: str
    tool: str
    failures: int
    findings: tuple[ContractFinding, ...]

    @property
    def share(self) -> float | None:
        """What is there of all that is asked for, 0 to 1; None if nothing is."""
        asked = sum(one.n for one in self.findings)
        return sum(one.k for one in self.findings) / asked if asked else None

    @property
    def faults(self) -> tuple[ContractFinding, ...]:
        """The findings of which something is missing, most first."""
        return tuple(sorted((one for one in self.findings if one.missing), key=lambda one: (-one.missing, ASKED.index(one.id))))

    @property
    def order(self) -> tuple[int, str, str, str]:
        """The tools with most faults first, then by name."""
        return -sum(one.missing for one in self.findings), self.server, self.tool, self.environment

    def record(self) -> dict[str, Any]:
        """As JSON; `share` is null where nothing is asked for."""
        names = ("environment", "server", "tool", "failures", "share")
        return {**{name: getattr(self, name) for name in names}, "findings": [one.record() for one in self.findings]}


def written(findings: tuple[ContractFinding, ...]) -> str:
    """Findings as the text that is stored."""
    return json.dumps([asdict(one) for one in findings])


def findings_in(text: str) -> tuple[ContractFinding, ...]:
    """What `written` wrote."""
    return tuple(ContractFinding(**one) for one in json.loads(text))
