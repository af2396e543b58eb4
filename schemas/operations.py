"""What an operation is: a call and its retries; the words for how it is held together and how it ended."""

# What a link between two calls rests on, the strongest first: the emitter says so, equal arguments, or only the same tool below
# the same parent. An operation is as strong as its weakest link.
DECLARED, SAME_ARGUMENTS, SAME_TOOL = "declared", "same_arguments", "same_tool"
STRENGTHS = (DECLARED, SAME_ARGUMENTS, SAME_TOOL)

# How an operation ended, as if nothing more came of it.
RECOVERED = "recovered"  # its first attempt failed, it was retried, and its last attempt did not fail
EXHAUSTED = "exhausted"  # its first attempt failed, and so did its last of three or more
MISSED = "missed"  # one attempt, that failed and could have been retried, while its session went on
ABANDONED = "abandoned"  # its first attempt failed, and so did its last of two, or there was no other
FAILED = "failed"  # its last attempt failed, but its first did not, or was not received
ENDED = "ended"  # neither its last attempt nor its first failed, or the first was not received
ENDINGS = (RECOVERED, EXHAUSTED, MISSED, ABANDONED, FAILED, ENDED)
# The last attempt failed, and it may still be retried.
OPEN = "open"
STATES = (OPEN, *ENDINGS)

# An operation that ended in failure so often is exhausted.
EXHAUSTED_AT = 3
# A retry that starts sooner after the end of the attempt before gave nothing the time to mend.
HOT_NS = 100 * 10**6


def at_least(strength: str) -> tuple[str, ...]:
    """The strengths of operations that are at least so strong; '' are those of one attempt, which no link holds together."""
    return ("", *STRENGTHS[: STRENGTHS.index(strength) + 1])


def weaker(one: str, other: str) -> str:
    """The weaker of two strengths ('' is none)."""
    order = ("", *STRENGTHS)
    return max(one, other, key=order.index)
