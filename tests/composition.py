"""What docker-compose.yml and the Dockerfile say, read as their programs read them."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
COMPOSITION = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "Dockerfile"
DATABASE = "postgres"
# The services that are toolvitals, by the command that each must run.
OURS = {"collector": "collect", "worker": "work", "dashboard": "dashboard"}


def composition(given: Mapping[str, str]) -> dict[str, Any]:
    """docker-compose.yml in an environment: `${NAME:-default}` is filled in, merge keys are merged."""
    text = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: given.get(found[1]) or found[2], COMPOSITION.read_text())
    assert not re.search(r"^[^#]*\$", text, re.MULTILINE), "a variable without a default"
    read: dict[str, Any] = yaml.safe_load(text)
    return read


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile's last stage and those before it, in order, each with its words as one line."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    whole = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in whole.splitlines())]


def image() -> list[tuple[str, str]]:
    """The instructions of the last stage alone: what is in the image."""
    found = instructions()
    last = max(place for place, (word, _) in enumerate(found) if word == "FROM")
    return found[last:]


def image_environment() -> dict[str, str]:
    """The variables that the image sets, PATH aside, which leads into it."""
    words = [word for instruction, rest in image() if instruction == "ENV" for word in shlex.split(rest)]
    return {name: value for name, _, value in (word.partition("=") for word in words) if name != "PATH"}
