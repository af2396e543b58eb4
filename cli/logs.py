"""How processes log: one line an event, to standard error, with the name of the process."""

import logging

from schemas.settings import Settings


def start_logging(settings: Settings, process: str) -> None:
    """Log from the level that the settings say."""
    level = settings.log_level.upper()
    logging.basicConfig(level=level, format=f"%(asctime)s {process} %(levelname)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z", force=True)
    # One line a request is noise, not information.
    for chatty in ("httpx", "httpcore", "uvicorn.error", "alembic", "grpc"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLevelName(level)))
