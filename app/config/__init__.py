"""Reads the settings from the environment and validates them.

An entry point reads them once; lower layers receive values, never the Settings object.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator

from app.config.providers import ProviderSettings
from app.shapes import hosts, limits
from app.shapes.optional_tools import COMPAT, OPTIONAL_TOOLS

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?"
_ORIGIN = rf"[A-Za-z][A-Za-z0-9+.-]*://{_HOST}"

OTHER_VARIABLES = {
    "STEPWELL_OWNER_PASSWORD",
    "STEPWELL_SERVICE_PASSWORD",
    "STEPWELL_MEMORY",
    "STEPWELL_POSTGRES_MEMORY",
    "STEPWELL_PUBLISHED_PORT",
    "STEPWELL_EXTRAS",
    "STEPWELL_URL",
    "STEPWELL_API_KEY",
}
"""Variables that compose.yaml or the command line reads."""
NEAREST_SCORE = 80
"""Least similarity, of 100, of an unknown variable and the setting that is suggested for it."""


def _either(name: str) -> AliasChoices:
    return AliasChoices(f"STEPWELL_{name}", name)


def _listed(value: str) -> list[str]:
    return [item for part in value.split(",") if (item := part.strip())]


class Settings(ProviderSettings):
    """All settings with their defaults, documented in docs/configuration.md."""

    # storage
    data_dir: Path | None = Field(
        None, description="Data folder of the embedded Postgres; unset: a folder per account."
    )
    database_url: SecretStr | None = Field(
        None,
        validation_alias=_either("DATABASE_URL"),
        description="Any Postgres 15+ with pgvector 0.8+, as the service's role; unset: the embedded server.",
    )
    database_read_url: SecretStr | None = Field(
        None,
        validation_alias=_either("DATABASE_READ_URL"),
        description="A streaming standby of DATABASE_URL, as the same role: reads of the API go to it; unset: to the "
        "primary.",
    )
    migration_url: SecretStr | None = Field(
        None,
        description="Address with the owner's role, for `db`, `keys`, `users`, `audit` "
        "and backups; unset: DATABASE_URL.",
    )
    pool_size: int = Field(10, ge=1, le=80, description="Maximum number of connections of each process to Postgres.")
    pool_wait_s: float = Field(1.0, gt=0, description="Time a request waits for a connection before it gets 503.")

    # service
    auth: Literal["none", "local_token", "api_key"] = Field(
        "none",
        validation_alias=_either("AUTH"),
        description="none: one user `local`, loopback only; local_token: the same, and requests need the token in the "
        "data folder; api_key: requests need an API key.",
    )
    host: str = Field("127.0.0.1", description="Address that the service listens on.")
    allowed_hosts: str = Field(
        "",
        description="Allowed names in the Host header besides loopback, comma-separated; "
        "unset: loopback only, or any with api_key.",
    )
    allowed_origins: str = Field(
        "", description="Origins whose pages may call the service, comma-separated, such as `https://app.example`."
    )
    port: int = Field(8000, ge=0, le=65535, description="Port that the service listens on; 0 picks a free one.")
    workers: int = Field(1, ge=1, le=20, description="Number of processes that serve the port.")
    max_body_bytes: int = Field(
        64_000_000,
        ge=10_000,
        description="Maximum size of a body with documents; larger ones get 413. Other bodies have at most 10 MB.",
    )
    max_connections: int = Field(
        500,
        ge=1,
        description="Maximum number of client connections of each process; beyond it idle "
        "ones are closed, then new ones get 503.",
    )
    max_concurrent_searches: int = Field(
        0,
        ge=0,
        description="Maximum number of concurrent searches, of which a user has one fewer; "
        "0: one more than usable cores.",
    )
    max_waiting_searches: int = Field(
        512, ge=0, description="Maximum number of queued searches; others get 503 at once."
    )
    queue_timeout_s: float = Field(
        5.0, gt=0, description="Longest time that a search is queued, within STEPWELL_SEARCH_TIMEOUT_S."
    )
    rate_limit_user: int = Field(
        0,
        ge=0,
        description="Maximum number of requests per minute and user, in each process; others get 429; 0: no limit.",
    )
    rate_limit_key: int = Field(
        0,
        ge=0,
        description="Maximum number of requests per minute and key, in each process; others get 429; 0: no limit.",
    )

    worker: bool = Field(
        True, description="Run background jobs inside the service; false: only `stepwell worker` runs them."
    )

    # logs, metrics and traces
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that is logged; query text is logged at debug only."
    )
    log_json: bool | None = Field(
        None, description="true: JSON lines on stderr; false: plain text; unset: JSON unless stderr is a terminal."
    )
    metrics: Literal["keyed", "open", "off"] = Field(
        "keyed",
        description="Access to /metrics; keyed: with AUTH=api_key, keys with the scope "
        "metrics; open: everybody; off: nobody.",
    )
    otel: bool = Field(False, description="Export traces to OTEL_EXPORTER_OTLP_ENDPOINT (needs the extra `otel`).")

    # search
    sql_timeout_s: float = Field(5.0, gt=0, description="Statement timeout of a search.")
    write_timeout_s: float = Field(60.0, gt=0, description="Statement timeout of a write.")
    search_timeout_s: float = Field(10.0, gt=0, description="Deadline of a whole search.")
    candidates: int = Field(
        100,
        ge=limits.MIN_CANDIDATES,
        le=limits.MAX_CANDIDATES,
        description="Number of chunks that each leg passes to the fusion.",
    )
    rrf_k: int = Field(60, ge=1, le=limits.MAX_RANK_CONSTANT, description="The constant k of reciprocal rank fusion.")
    rerank_weight: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Weight of the cosine in the scores of `rerank: cosine`; the fused score has the rest.",
    )
    mmr_lambda: float = Field(
        0.7,
        ge=0,
        le=1,
        description="Weight λ of the score in MMR; the similarity to hits selected before has the rest.",
    )

    # feedback
    feedback_days: int = Field(
        180,
        ge=0,
        le=36_500,
        description="Days for which feedback on hits is kept with the queries, which are personal data; 0: none is "
        "taken, and what was stored is deleted within a day.",
    )

    # agents
    tools: str = Field(
        "",
        description="Optional tools to offer agents, comma-separated: "
        f"{', '.join(f'`{name}`' for name in OPTIONAL_TOOLS)}.",
    )

    compat: str = Field(
        "",
        description="Contracts of other platforms to serve, comma-separated: `chatgpt` (the tools `search` and "
        "`fetch`), `dify` (`POST /retrieval`).",
    )

    # entities
    hierarchy_alpha: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Weight of a passage's own score against the score of its entity, where a query names entities.",
    )
    hierarchy_threshold: float = Field(
        0.5, ge=0, le=1, description="Minimum score of an entity match that guides a search."
    )
    hierarchy_max_entities: int = Field(
        5, ge=1, le=limits.MAX_GUIDING_ENTITIES, description="Maximum number of entities that guide one search."
    )
    entity_boost: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description='Boost by entity type as JSON, per mention and maximum, such as `{"person": [0.1, 0.5]}`; '
        "other types have 0.1 and 0.5.",
    )

    # chunks
    chunk_tokens: int = Field(160, ge=40, le=400, description="Target size of a chunk in tokens.")
    chunk_overlap: int = Field(24, ge=0, le=100, description="Overlap of neighbouring chunks of a section, in tokens.")

    language: str = Field(
        "auto",
        description="Language of documents that name none: a BCP 47 tag, ISO 639 code or name; auto: it is detected, "
        "and is English where a text says too little.",
    )

    # files
    parse_memory_mb: int = Field(
        512, ge=256, description="Memory that the process which parses a file may use, in MB of address space."
    )
    parse_timeout_s: float = Field(
        90.0, ge=1, description="Time that parsing a file may take; its CPU time is limited to two thirds of it."
    )

    ocr: Literal["auto", "off"] = Field(
        "auto",
        description="auto: text in scans and pictures is read if the extra `ocr` is installed; off: it is not read.",
    )

    # sources
    source_roots: str = Field(
        "",
        description="Folders that sources may be added from over HTTP, comma-separated; unset: none. With api_key each "
        "user may add folders below the subfolder with the user's name.",
    )
    fetch_hosts: str = Field(
        "",
        description="Hosts of which `POST /documents` may fetch pages by their address, comma-separated: "
        "`docs.example.com`, `*.example.com` for those below it, `*` for all public ones; with `:` and a port another "
        "one than 80 and 443; unset: none.",
    )
    watch_interval_s: float = Field(
        300.0, ge=1, description="Time after which a watched source is compared with its folder without any event."
    )

    # entities
    entity_keys: str = Field(
        "attendees,people,participants,speakers,author,project,team,vendor,client,customer,organisation,organization,"
        "company,product,tags",
        description="Metadata keys whose values name entities, comma-separated, with their type if it is not the key: "
        "`supplier:vendor`; applies to documents that are stored afterwards.",
    )

    @field_validator("data_dir")
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        return value.expanduser().absolute() if value else None

    @field_validator("source_roots")
    @classmethod
    def _roots_are_absolute(cls, value: str) -> str:
        if not all(Path(root).expanduser().is_absolute() for root in _listed(value)):
            raise ValueError("list absolute folders such as /srv/notes, comma-separated")
        return value

    @field_validator("fetch_hosts")
    @classmethod
    def _fetch_hosts_are_patterns(cls, value: str) -> str:
        if not all(map(hosts.is_pattern, _listed(value))):
            raise ValueError("list host names such as docs.example.com, *.example.com or *, without a scheme or path")
        return value

    @field_validator("tools")
    @classmethod
    def _tools_are_known(cls, value: str) -> str:
        if not set(_listed(value)) <= set(OPTIONAL_TOOLS):
            raise ValueError(f"list some of {', '.join(OPTIONAL_TOOLS)}, comma-separated")
        return value

    @field_validator("compat")
    @classmethod
    def _contracts_are_known(cls, value: str) -> str:
        if not set(_listed(value)) <= set(COMPAT):
            raise ValueError(f"list some of {', '.join(COMPAT)}, comma-separated")
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts_are_names(cls, value: str) -> str:
        if not all(re.fullmatch(_HOST, host) for host in _listed(value)):
            raise ValueError("list host names such as search.example.com or [::1]:8000, without a scheme or wildcard")
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _origins_are_origins(cls, value: str) -> str:
        if not all(re.fullmatch(_ORIGIN, origin) for origin in _listed(value)):
            raise ValueError("list origins such as https://app.example or http://localhost:3000, without a path")
        return value

    @model_validator(mode="after")
    def _no_access_without_keys(self) -> Settings:
        if self.auth != "api_key" and self.host not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError(f"AUTH={self.auth} listens on loopback only: set AUTH=api_key or STEPWELL_HOST=127.0.0.1")
        return self

    @model_validator(mode="after")
    def _no_standby_of_the_embedded_server(self) -> Settings:
        if self.database_read_url is not None and self.database_url is None:
            raise ValueError("DATABASE_READ_URL names a standby of DATABASE_URL: set DATABASE_URL too, or neither")
        return self

    @cached_property
    def source_folders(self) -> tuple[Path, ...]:
        """The folders that sources may be added from over HTTP."""
        return tuple(Path(root).expanduser() for root in _listed(self.source_roots))

    @cached_property
    def fetch_patterns(self) -> tuple[str, ...]:
        """The patterns of hosts of which pages may be fetched over HTTP."""
        return tuple(_listed(self.fetch_hosts))

    @cached_property
    def optional_tools(self) -> frozenset[str]:
        """The optional tools that agents are offered."""
        return frozenset([*_listed(self.tools), *(name for one in self.contracts for name in COMPAT[one])])

    @cached_property
    def contracts(self) -> frozenset[str]:
        """The contracts of other platforms that are served."""
        return frozenset(_listed(self.compat))

    @cached_property
    def hosts(self) -> tuple[str, ...] | None:
        """The allowed names in the Host header; None allows any."""
        if self.auth == "api_key" and not self.allowed_hosts:
            return None
        own = f"[{self.host}]" if ":" in self.host else self.host
        return (*LOOPBACK, own, *_listed(self.allowed_hosts))

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """The allowed origins in lower case, as browsers send them."""
        return tuple(origin.lower() for origin in _listed(self.allowed_origins))

    @property
    def searches_at_once(self) -> int:
        """The maximum number of concurrent searches; by default the number of usable cores, and one for other users."""
        return self.max_concurrent_searches or usable_cores() + 1

    def described(self) -> list[tuple[str, str, str]]:
        """Every setting as (environment variable, default, description), for docs/configuration.md and `doctor`."""
        rows = []
        for name, spec in type(self).model_fields.items():
            alias = spec.validation_alias
            variable = str(alias.choices[-1]) if isinstance(alias, AliasChoices) else f"STEPWELL_{name.upper()}"
            default = spec.get_default(call_default_factory=True)
            rows.append((variable, "" if default is None else str(default), spec.description or ""))
        return rows


def load(**overrides: Any) -> Settings:
    """Reads the environment; a keyword argument other than None takes precedence.

    Raises pydantic.ValidationError, which names each bad variable.
    """
    return Settings(**{name: value for name, value in overrides.items() if value is not None})


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Names each variable that begins with STEPWELL_ and is no setting, with the nearest setting, as a sentence."""
    known = _variables()
    given = {name.upper(): name for name in (os.environ if environ is None else environ)}
    unknown = [name for name in given if name.startswith("STEPWELL_") and name not in known | OTHER_VARIABLES]
    return [_described_unknown(given[name], known) for name in sorted(unknown)]


def _described_unknown(name: str, known: set[str]) -> str:
    from rapidfuzz import process

    nearest = process.extractOne(name.upper(), sorted(known), score_cutoff=NEAREST_SCORE)
    return f"{name} is no setting and is ignored." + (f" Did you mean {nearest[0]}?" if nearest else "")


def _variables() -> set[str]:
    """The names of all settings as variables, aliases included."""
    names = set()
    for name, spec in Settings.model_fields.items():
        alias = spec.validation_alias
        names |= set(map(str, alias.choices)) if isinstance(alias, AliasChoices) else {f"STEPWELL_{name.upper()}"}
    return names


def usable_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment() -> dict[str, str]:
    """Returns a copy of the process environment."""
    return dict(os.environ)


def is_root() -> bool:
    """Returns whether the process runs as root; the embedded Postgres then needs another system user."""
    return sys.platform != "win32" and os.geteuid() == 0
