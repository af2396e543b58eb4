"""Who may import whom, and what every file looks like: the rules of the layout, checked on the syntax trees."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("cli", "collector", "dashboard", "schemas")
LONGEST_FILE = 300

SOURCES = sorted(path for package in OURS for path in (ROOT / package).rglob("*.py"))
ALL_FILES = SOURCES + sorted((ROOT / "tests").rglob("*.py"))

# Modules that say what things are, and nothing else.
PURE_SCHEMAS = (
    "schemas.vocabulary",
    "schemas.spans",
    "schemas.calls",
    "schemas.operations",
    "schemas.rollups",
    "schemas.alerting",
    "schemas.suppression",
    "schemas.contracts",
    "schemas.honest_empties",
    "schemas.reviewing",
    "schemas.weeks",
)
# A core without clock, network, database and randomness cannot even name them.
NOT_IN_CORE = {
    "asyncio",
    "http",
    "os",
    "random",
    "secrets",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "threading",
    "time",
    "urllib.request",
    "uuid",
}
CORE_LIBRARIES = ("scipy", "numpy", "google.protobuf", "opentelemetry.proto", "orjson")
WEB_FRAMEWORKS = ("fastapi", "starlette", "uvicorn", "grpc", "jinja2", "plotly")
# What the command line may know of SQLAlchemy: how a database is called and how it fails, not how it is asked.
CLI_SQLALCHEMY = {"sqlalchemy.Engine", "sqlalchemy.make_url", "sqlalchemy.exc.SQLAlchemyError"}


def module_of(path: Path) -> str:
    """The dotted name of a source file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Every name that a file imports, dotted and absolute, wherever in the file it is imported."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of these packages or lies in one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def standard(name: str) -> bool:
    """Whether a name belongs to the standard library."""
    return name.split(".")[0] in sys.stdlib_module_names


def offences(*, of: tuple[str, ...], allowed: object) -> list[str]:
    """What modules in some packages import although the predicate does not allow it."""
    return [
        f"{module_of(path)} imports {name}"
        for path in SOURCES
        if within(module_of(path), *of)
        for name in imported(path)
        if not allowed(name)  # type: ignore[operator]
    ]


def test_the_language_needs_the_standard_library_alone() -> None:
    assert offences(of=PURE_SCHEMAS, allowed=standard) == []


def test_schemas_know_no_other_part() -> None:
    assert offences(of=("schemas",), allowed=lambda name: not within(name, "collector", "dashboard", "cli")) == []


def test_the_core_is_pure() -> None:
    def allowed(name: str) -> bool:
        if standard(name):
            return not within(name, *NOT_IN_CORE)
        return within(name, "collector.core", *PURE_SCHEMAS, "schemas.histogram", *CORE_LIBRARIES) or (
            # The name of a module without its content, as in `from collector.core import fold`.
            name in {"collector.core", "schemas"}
        )

    assert offences(of=("collector.core",), allowed=allowed) == []


def test_the_store_knows_tables_but_neither_core_nor_web() -> None:
    assert offences(of=("collector.store",), allowed=lambda name: not within(name, "collector.core", *WEB_FRAMEWORKS)) == []


def test_collector_knows_neither_dashboard_nor_command_line() -> None:
    assert offences(of=("collector",), allowed=lambda name: not within(name, "dashboard", "cli")) == []


def test_dashboard_knows_only_schemas() -> None:
    assert offences(of=("dashboard",), allowed=lambda name: not within(name, "collector", "cli")) == []


def test_command_line_holds_no_sql() -> None:
    def allowed(name: str) -> bool:
        return not within(name, "sqlmodel", "sqlalchemy", "alembic", "sqlite3", "psycopg") or name in CLI_SQLALCHEMY

    assert offences(of=("cli",), allowed=allowed) == []


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_begins_with_a_sentence_on_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, "no docstring"
    assert docstring.split("\n")[0].endswith((".", "?")), "the first line is no sentence"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST_FILE
