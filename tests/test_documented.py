"""What users meet is in the documentation: settings, commands, options, tables, attribute names, exported keys."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer

from cli.main import app
from collector.core import classify
from dashboard import chain_queries
from dashboard.retry_metrics import METRICS, Metric, record
from dashboard.retrying import Retries
from schemas.calls import CATEGORIES, CHANNELS, EMPTINESS, OUTCOMES
from schemas.export import RECORD_KEYS
from schemas.operations import STATES, STRENGTHS
from schemas.settings import Settings
from schemas.tables import SQLModel
from schemas.vocabulary import ALIASES, CATEGORY_WORDS, RISKY_RULES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SPANS = (ROOT / "docs" / "spans.md").read_text()
INTERFACES = (ROOT / "docs" / "interfaces.md").read_text()
METRICS_PAGE = (ROOT / "docs" / "metrics.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it."""

    def walk(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if hasattr(command, "commands"):
            for name, child in command.commands.items():
                yield from walk(f"{words} {name}", child)
        else:
            yield words, command

    return walk("toolvitals", typer.main.get_command(app))


COMMANDS = dict(commands())


def section(title: str) -> str:
    """One chapter of docs/spans.md."""
    return SPANS.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def rules() -> Iterator[str]:
    """Every rule that can decide the outcome: the second of the pairs that classify returns."""
    tree = ast.parse(inspect.getsource(classify._outcome))
    for pair in (node for node in ast.walk(tree) if isinstance(node, ast.Tuple) and len(node.elts) == 2):
        outcome, rule = pair.elts
        if isinstance(outcome, ast.Constant) and outcome.value in OUTCOMES and isinstance(rule, ast.Constant):
            yield str(rule.value)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_readme_has_the_setting(name: str) -> None:
    field = Settings.model_fields[name]
    [row] = re.findall(rf"^\| `{name}` \|.*$", README, re.MULTILINE)
    assert f"`TOOLVITALS_{name.upper()}`" in row
    assert field.description is not None
    assert field.description in row


@pytest.mark.parametrize("words", COMMANDS)
def test_command_is_documented(words: str) -> None:
    assert f"`{words}" in README + OPERATIONS


@pytest.mark.parametrize("words", COMMANDS)
def test_command_has_help_with_an_example(words: str) -> None:
    assert f"Example: {words}" in (COMMANDS[words].help or "")


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_has_help(words: str) -> None:
    assert [option.name for option in COMMANDS[words].params if not getattr(option, "help", None)] == []


@pytest.mark.parametrize("table", sorted(SQLModel.metadata.tables))
def test_table_is_documented(table: str) -> None:
    assert f"| `{table}` |" in INTERFACES


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_metric_is_documented_as_it_is_defined(metric: Metric) -> None:
    row = " | ".join((metric.id, f"`{metric.key}`", metric.name, metric.formula, metric.unit, metric.says))
    assert f"| {row} |" in METRICS_PAGE


def test_no_other_metric_is_documented() -> None:
    documented = re.findall(r"^\| (?:R\d+)? \| `(\w+)` \|", METRICS_PAGE, re.MULTILINE)
    assert documented == [metric.key for metric in METRICS]
    assert set(documented) <= set(record(Retries()))


@pytest.mark.parametrize("word", [*STATES, *STRENGTHS])
def test_word_of_operations_is_explained(word: str) -> None:
    assert f"`{word}`" in METRICS_PAGE


@pytest.mark.parametrize("key", [*record(Retries()), *chain_queries.RECORD_KEYS])
def test_key_of_retries_is_documented(key: str) -> None:
    assert f"`{key}`" in INTERFACES + METRICS_PAGE


@pytest.mark.parametrize("key", RECORD_KEYS)
def test_exported_key_is_documented(key: str) -> None:
    assert f"| `{key}` |" in INTERFACES


@pytest.mark.parametrize("concept", ALIASES)
def test_aliases_are_documented_in_their_order(concept: str) -> None:
    [row] = re.findall(rf"^\| `{concept}` \|(.*)\|$", section("Attribute names"), re.MULTILINE)
    assert tuple(re.findall(r"`([^`]+)`", row)) == ALIASES[concept]


def test_rules_are_documented_in_their_order() -> None:
    # The first cell is the heading of the column.
    documented = re.findall(r"^\| `([a-z_]+)` \|", section("Outcome"), re.MULTILINE)
    assert documented[1:] == [rule for rule in dict.fromkeys(rules()) if rule != "no_failure"] + ["no_failure"]


@pytest.mark.parametrize("rule", RISKY_RULES)
def test_risky_rule_is_documented(rule: str) -> None:
    assert f"`{rule}`" in section("Outcome")
    assert rule in (Settings.model_fields["disabled_rules"].description or "")


@pytest.mark.parametrize("word", CATEGORY_WORDS)
def test_category_word_is_documented(word: str) -> None:
    [row] = re.findall(rf"^\| `{CATEGORY_WORDS[word]}` \| (.*`{word}`.*)$", SPANS, re.MULTILINE)
    assert row


@pytest.mark.parametrize("word", [*OUTCOMES, *EMPTINESS, *CATEGORIES, *CHANNELS])
def test_word_is_explained(word: str) -> None:
    assert f"`{word}`" in SPANS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []
