"""Time zones by their IANA names, as settings, filters and reviews take them."""

from zoneinfo import ZoneInfo


def zone_of(name: str) -> ZoneInfo:
    """The zone of a name such as Europe/Berlin or UTC. Raises ValueError, with a sentence for the reader."""
    try:
        return ZoneInfo(name)
    # Names that are folders, absolute paths or broken files fail in other ways than unknown ones.
    except (KeyError, ValueError, OSError):
        raise ValueError(f"“{name[:80]}” is no time zone: use an IANA name such as Europe/Berlin, or UTC") from None
