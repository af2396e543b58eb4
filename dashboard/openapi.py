"""The description of the JSON API: which parameters an address takes, what it answers, and an example of it."""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI

from dashboard.examples import examples
from dashboard.filters import CALL_NAMES, KIND_NAMES, PLACE_NAMES, PRESETS
from schemas.alerting import STATES as ALERT_STATES
from schemas.calls import CATEGORIES, CHANNELS, EMPTINESS, OUTCOMES
from schemas.operations import STATES, STRENGTHS

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "range": tuple(PRESETS),
    "outcome": OUTCOMES,
    "emptiness": EMPTINESS,
    "category": CATEGORIES,
    "retryable": ("true", "false", "unknown"),
    "channel": CHANNELS,
    "format": ("json", "csv"),
    "table": ("emitters", "refusals", "servers", "understanding"),
    "spans": ("all", "failed"),
    "strength": STRENGTHS[::-1],
    "state": STATES,
    "by": ("tool", "client"),
    "alert_state": ALERT_STATES,
    "tool_table": ("buckets", "clients", "outcomes", "errors", "fingerprints", "views"),
    "empties_table": ("tools", "buckets", "marked", "suspects", "contract"),
}
_SAYS: Mapping[str, str] = {
    "range": "A range that ends now; 1h if neither range nor from is given.",
    "from": "Start of the range: 2026-11-30T14:00Z, -90m, -6h, -2d.",
    "to": "End of the range; now if it is absent.",
    "zone": "Zone of times without an offset, an IANA name; the team's if it is absent.",
    "environment": "Only calls of this environment; (none) for calls without one.",
    "server": "Only calls of this MCP server; (none) for calls without one.",
    "client": "Only calls of this client; (none) for calls whose caller is unknown.",
    "tool": "Only calls of this tool; (other) for the names that rollups fold.",
    "outcome": "Only calls with this outcome.",
    "emptiness": "Only calls with this emptiness.",
    "category": "Only failures of this category. Ratios stay those of all completed calls.",
    "retryable": "Only failures with this retryability.",
    "channel": "Only failures of this channel.",
    "session": "Only calls of this session.",
    "decided_by": "Only calls whose outcome this rule decided.",
    "category_decided_by": "Only failures whose category this rule decided.",
    "error_type": "Only failures with this error type.",
    "flag": "Only calls with this flag.",
    "trace": "Only calls of this trace: 32 lower-case hexadecimal digits.",
    "fingerprint": "Only failures with this fingerprint, as the answer for a tool gives it.",
    "min_duration": "Only calls that took so long or longer: 500ms, 2s, 1.5m.",
    "max_duration": "Only calls that took less.",
    "limit": "How many, 1 to 1000.",
    "cursor": "Where to go on: the `next` of the answer before.",
    "sort": "Order: impact, tool, calls, failure, rate, … as the page has it; - before it turns it round.",
    "page": "Page of the spans of the trace, from 1.",
    "spans": "All tool spans of the trace, or the failed ones.",
    **dict.fromkeys(("table", "tool_table", "empties_table"), "With format=csv: which table."),
    "strength": "Only operations held together by links that are at least so strong.",
    "state": "Only operations in this state.",
    "alert_state": "Only alerts in this state.",
    "revision": "Another revision than the newest: 0 while the week runs, then 1, 2, …",
    "by": "With format=csv: which table.",
    "after": "Only attempts after so many: the `next` of the answer before.",
    "format": "json, or csv for a table.",
}
# Objects whose keys are data, and parameters that mean something else where they have the same name.
_OPEN = frozenset({"attributes", "rows", "labels", "evidence", "matchers", "detail", "suggested"})
_NAMES: Mapping[str, str] = {"alert_state": "state", "tool_table": "table", "empties_table": "table"}
_TIME = ("range", "from", "to", "zone")
_ROLLUPS = (*_TIME, *PLACE_NAMES, *KIND_NAMES)
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "/api/v1/overview": (*_ROLLUPS, "format"),
    "/api/v1/tools": (*_ROLLUPS, "sort", "format"),
    "/api/v1/tools/{server}/{tool}": (*_TIME, "environment", "client", *KIND_NAMES, "tool_table", "format"),
    "/api/v1/retries": (*_TIME, *PLACE_NAMES, "strength", "by", "format"),
    "/api/v1/chains": (*_TIME, *PLACE_NAMES, "state", "strength", "limit", "cursor", "format"),
    "/api/v1/chains/{chain_id}": ("after", "format"),
    "/api/v1/alerts": ("alert_state", "format"),
    "/api/v1/silences": (),
    "/api/v1/reviews": ("format",),
    "/api/v1/reviews/{week}": ("revision",),
    "/api/v1/by-design": (),
    "/api/v1/empties": (*_ROLLUPS, "empties_table", "format"),
    "/api/v1/calls": (*_ROLLUPS, *CALL_NAMES, "limit", "cursor", "format"),
    "/api/v1/calls/{trace_id}/{call_id}": ("page", "spans", "format"),
    "/api/v1/spans/{trace_id}/{span_id}": (),
    "/api/v1/health": ("table", "format"),
    "/api/v1/status": (),
}


def describe(app: FastAPI) -> None:
    """Give an application the whole description; it is made when it is first asked for."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = plain()
            answers = examples()
            for path, operations in made["paths"].items():
                if path in _PARAMETERS:
                    _describe(operations["get"], path, answers[path])
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _describe(operation: dict[str, Any], path: str, example: Any) -> None:
    names = _PARAMETERS[path]
    in_path = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "path"]
    operation["parameters"] = [*in_path, *_parameters(names)]
    content: dict[str, Any] = {"application/json": {"schema": schema_of(example), "example": example}}
    if "format" in names:
        content["text/csv"] = {"schema": {"type": "string"}}
    problem = {"error": "This address asks no valid question", "problems": ["“range” …"]}
    faults = {"400": "The question is not valid.", "404": "There is no such thing.", "503": "The database does not answer."}
    operation["responses"] = {
        "200": {"description": "The answer.", "content": content},
        **{
            status: {"description": text, "content": {"application/json": {"schema": schema_of(problem), "example": problem}}}
            for status, text in faults.items()
        },
    }


def _parameters(names: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": _NAMES.get(name, name),
            "in": "query",
            "required": False,
            "description": _SAYS[name],
            "schema": {"type": "string", **({"enum": list(_CHOICES[name])} if name in _CHOICES else {})},
        }
        for name in names
    ]


def schema_of(example: Any) -> dict[str, Any]:
    """The schema that an example shows. Plain values may be null: what is unknown or does not apply."""
    if isinstance(example, dict):
        properties = {name: {"type": ["object", "null"]} if name in _OPEN else schema_of(value) for name, value in example.items()}
        return {"type": ["object", "null"], "properties": properties, "required": list(example)}
    if isinstance(example, list):
        return {"type": ["array", "null"], "items": schema_of(example[0]) if example and not _mixed(example) else {}}
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": [names[type(example)], "null"]} if type(example) in names else {}


def _mixed(example: list[Any]) -> bool:
    """Whether a list is a row of different things."""
    return len({type(item) for item in example}) > 1
