"""What a failed span inside a call that went well may mean, for the page of that call. Pure."""

from collections.abc import Mapping
from typing import Any

from schemas.suppression import FALSE_POSITIVES, Q1, unexplained

_COULD_BE = ", ".join(FALSE_POSITIVES[Q1])


def meaning(call: Mapping[str, Any]) -> str | None:
    """What to think of the failed spans of a call (its record, schemas/export.py); None for a failure, and where none failed."""
    children = call["failed_children"]
    if not children or call["outcome"] == "failure":
        return None
    hidden = [child for child in children if unexplained(child["recovered"], child["http_status"])]
    if not hidden:
        return "Spans inside this call failed, but what they tried went well later or was a look-up of what there is not (404)."
    number = "A span inside this call failed" if len(hidden) == 1 else f"{len(hidden)} spans inside this call failed"
    if call["emptiness"] == "empty":
        return (
            f"{number}, and it answered that there is nothing: the failure may be hidden in an empty result. "
            f"Could also be: {_COULD_BE}. One call is no proof; the Empties page counts them."
        )
    if call["emptiness"] == "data" or call["outcome"] != "success":
        return f"{number}, and it answered all the same: something may be missing from the answer. Could also be: {_COULD_BE}."
    return (
        f"{number}, and nobody can tell whether the answer held data: if it was empty, it may hide the failure. "
        "Set toolvitals.result.count on the span to tell."
    )
