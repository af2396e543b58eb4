"""Every setting, its default and its meaning. Read once at start by cli, passed down as a value."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from schemas.vocabulary import RISKY_RULES, lexicon
from schemas.zones import zone_of

CONFIG_VARIABLE = "TOOLVITALS_CONFIG"


class Settings(BaseSettings):
    """All settings: from the command line, else TOOLVITALS_… variables, else a TOML file, else these defaults."""

    model_config = SettingsConfigDict(env_prefix="TOOLVITALS_", extra="forbid", frozen=True)

    data: Path = Field(Path("data"), description="Folder of the embedded SQLite database.")
    database_url: str | None = Field(None, description="Database URL instead of the folder, e.g. postgresql://user@host/name.")
    host: str = Field("127.0.0.1", description="Address that every port binds to.")
    otlp_http_port: int = Field(4318, ge=0, le=65535, description="Port of OTLP over HTTP.")
    otlp_grpc_port: int = Field(4317, ge=0, le=65535, description="Port of OTLP over gRPC.")
    port: int = Field(4320, ge=0, le=65535, description="Port of the dashboard.")
    worker_port: int = Field(4321, ge=0, le=65535, description="Port of the worker's health and metrics.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged, to standard error.")

    ingest_token: SecretStr | None = Field(
        None,
        description="Token that exporters must send, as Authorization: Bearer or x-api-key. Unset: none is asked for.",
    )
    cors_origins: tuple[str, ...] = Field((), description="Browser origins that may send spans. Empty: CORS is off.")
    max_body_bytes: int = Field(64 * 2**20, ge=1024, description="Largest request, as sent and as inflated.")
    max_waiting_bytes: int = Field(256 * 2**20, ge=1024, description="Bytes of requests in work; beyond it exporters are asked to retry.")
    name_length: int = Field(256, ge=16, description="Characters kept of a name (span, tool, service, scope).")
    value_length: int = Field(8192, ge=256, description="Characters kept of an attribute value.")
    body_length: int = Field(2048, ge=64, description="Characters kept of an error body's fields.")
    store_payloads: Literal["never", "on_failure", "always"] = Field(
        "never", description="Whether arguments and results are stored, redacted and cut."
    )
    clock_skew_s: int = Field(600, ge=0, description="Seconds a span may lie in the future before it is flagged.")
    ancestry_window_s: int = Field(900, ge=0, description="Seconds that the tree places of non-tool spans are kept for late arrivals.")
    call_days: int = Field(30, ge=1, description="Days that calls are kept; spans that started earlier are refused.")
    tool_span_days: int = Field(14, ge=1, description="Days that tool spans are kept: the evidence behind calls, and what rebuild reads.")
    minute_rollup_days: int = Field(14, ge=8, description="Days that counts by the minute are kept, for charts and for odd ranges.")
    rollup_months: int = Field(15, ge=1, description="Months that counts by 15 minutes and longer, intake and refusals are kept.")

    settlers: int = Field(
        1, ge=0, le=15, description="Processes that understand spans beside the worker's own, which also counts, watches and prunes."
    )
    aliases: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="More attribute names for a concept of the vocabulary, tried before the built-in ones.",
    )
    disabled_rules: tuple[str, ...] = Field((), description="Risky rules switched off: exception_event, error_key, timeout_word.")

    rules: Path | None = Field(None, description="TOML file of alert rules, as `toolvitals rules init` writes it. Unset: its defaults.")
    metrics_tools: int = Field(
        100, ge=0, le=10_000, description="Tools that /metrics names; all others together are one, (other). The busiest come first."
    )
    dashboard_url: str | None = Field(
        None, description="Address of the dashboard as people reach it, for links in alerts. Unset: that of host and port."
    )
    zone: str = Field("UTC", description="Time zone of the team, e.g. Europe/Berlin: pages show their times in it.")
    review_delivery: bool = Field(
        True, description="Whether the weekly review is sent to webhooks and chats, on Mondays at 09:00 in the zone."
    )
    trace_url: str | None = Field(None, description="Link to your trace store, with {trace_id} and {span_id}.")
    styleguide: bool = Field(False, description="Whether the dashboard has a page /styleguide with every element, for developers.")

    # What is wrong is said at start, by the name of the setting, and not by the first span that meets it.
    @field_validator("aliases")
    @classmethod
    def _known_concepts(cls, given: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        lexicon(given)
        return given

    @field_validator("disabled_rules")
    @classmethod
    def _known_rules(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(given) - set(RISKY_RULES))
        if unknown:
            raise ValueError(f"no rule named {', '.join(unknown)} can be switched off; known are {', '.join(RISKY_RULES)}")
        return given

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, given: str) -> str:
        zone_of(given)
        return given

    @field_validator("ingest_token")
    @classmethod
    def _no_empty_token(cls, given: SecretStr | None) -> SecretStr | None:
        if given is not None and not given.get_secret_value():
            raise ValueError("is set but empty: give it a value, or leave it out to take spans without a token")
        return given

    @property
    def site(self) -> str:
        """The address of the dashboard, without a slash at its end."""
        return (self.dashboard_url or f"http://{self.host}:{self.port}").rstrip("/")

    @property
    def sqlalchemy_url(self) -> str:
        """The URL that database.py opens."""
        if self.database_url is None:
            return f"sqlite:///{self.data.resolve() / 'toolvitals.db'}"
        if self.database_url.startswith(("postgresql://", "postgres://")):
            return "postgresql+psycopg://" + self.database_url.split("://", 1)[1]
        return self.database_url

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Command line over environment over the TOML file that TOOLVITALS_CONFIG names (default toolvitals.toml)."""
        file = Path(os.environ.get(CONFIG_VARIABLE, "toolvitals.toml"))
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=file)
