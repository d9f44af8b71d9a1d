"""Reads the settings from the environment and validates them.

An entry point reads them once; lower layers receive values, never the Settings object.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import NoDecode

from app import capability, errors
from app.database.embedded import embedded_files
from app.enums import COMPAT
from app.fetching.types import is_pattern
from app.models.settings import ProviderSettings

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MAX_MODEL_THREADS = 4
CPU_QUOTAS = (
    (Path("/sys/fs/cgroup/cpu.max"),),
    (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")),
)
"""The files with a container's quota and its period, of cgroups version 2 and 1."""
LEAST_SEARCHES = 2
"""Least default of a user's concurrent searches in each of several processes: one uses Python while another waits."""
MAX_CONNECTIONS = 80
"""Connections of all processes to Postgres, of the 100 that it allows by default."""
OTHER_VARIABLES = {
    *("STEPWELL_OWNER_PASSWORD", "STEPWELL_SERVICE_PASSWORD", "STEPWELL_MEMORY", "STEPWELL_POSTGRES_MEMORY"),
    *("STEPWELL_PUBLISHED_PORT", "STEPWELL_EXTRAS", "STEPWELL_URL", "STEPWELL_API_KEY"),
}
"""Variables that compose.yaml or the command line reads."""
FILE_SUFFIX = "_FILE"
"""Ends a variable that names the file with the value of another one, as secrets are mounted."""
EXPORT_S = 2
"""Seconds that an export of traces or metrics may take; a process that stops waits for four of them."""
NEAREST_SCORE = 80
"""Least similarity, of 100, of an unknown variable and the setting that is suggested for it."""
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(rf"(?!(?i:http://.*:80|https://.*:443)$)[A-Za-z][A-Za-z0-9+.-]*://{_HOST.pattern}")


def _split(value: Any) -> Any:
    return tuple(item for part in value.split(",") if (item := part.strip())) if isinstance(value, str) else value


def _all(is_usable: Callable[[str], object], request: str) -> AfterValidator:
    def check(items: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(is_usable, items)):
            raise ValueError(request)
        return items

    return AfterValidator(check)


def _some_of(names: Iterable[str]) -> str:
    return f"list some of {', '.join(names)}, comma-separated"


def _check_tools(items: tuple[str, ...]) -> tuple[str, ...]:
    known = capability.optional_tools()
    if not set(items) <= set(known):
        raise ValueError(_some_of(known))
    return items


def _is_absolute(folder: str) -> bool:
    return Path(folder).expanduser().is_absolute()


def _named(variable: str, default: Any) -> Any:
    """A field that is set by this variable, with and without the prefix."""
    return Field(default, validation_alias=AliasChoices(f"STEPWELL_{variable}", variable))


Items = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""A list, comma-separated in the environment."""


class Settings(ProviderSettings):
    """All settings with their defaults, documented in docs/reference.md."""

    # storage
    data_dir: Annotated[Path, AfterValidator(lambda folder: folder.expanduser().absolute())] | None = None
    """Data folder of the embedded Postgres; unset: a folder per account."""
    database_url: SecretStr | None = _named("DATABASE_URL", None)
    """Any Postgres 15+ with pgvector 0.8+, as the service's role; unset: the embedded server."""
    database_read_url: SecretStr | None = _named("DATABASE_READ_URL", None)
    """A streaming standby of DATABASE_URL, as the same role: reads of the API go to it; unset: to the primary."""
    migration_url: SecretStr | None = None
    """Address with the owner's role, for `db`, `keys`, `users`, `audit` and backups; unset: DATABASE_URL."""
    pool_size: int = Field(10, ge=1, le=80)
    """Maximum number of connections of each process to Postgres."""
    prepared_statements: Literal["auto", "on", "off"] = "auto"
    """Whether a connection keeps prepared statements; auto: unless DATABASE_URL is a pooler's. `on` is faster with one
    that pools by session."""

    # service
    auth: Literal["none", "local_token", "api_key"] = _named("AUTH", "none")
    """none: one user `local`, loopback only; local_token: the same, and requests need the token in the data folder;
    api_key: requests need an API key."""
    host: str = "127.0.0.1"
    """Address that the service listens on."""
    port: int = Field(8000, ge=0, le=65535)
    """Port that the service listens on; 0 picks a free one."""
    allowed_hosts: Annotated[
        Items,
        _all(_HOST.fullmatch, "list host names such as search.example.com or [::1]:8000, without a scheme or wildcard"),
    ] = ()
    """Allowed names in the Host header besides loopback, comma-separated; unset: loopback only, or any with api_key."""
    allowed_origins: Annotated[
        Items,
        _all(_ORIGIN.fullmatch, "list origins such as https://app.example, without path or default port"),
        AfterValidator(lambda origins: tuple(map(str.lower, origins))),  # as browsers send them
    ] = ()
    """Origins whose pages may call the service, comma-separated, such as `https://app.example`."""
    workers: int = Field(1, ge=1, le=20)
    """Number of processes that serve the port."""
    worker: bool = True
    """Run background jobs inside the service; false: only `stepwell worker` runs them."""
    max_concurrent_searches: int = Field(0, ge=0)
    """Maximum number of concurrent searches, of which a user has one fewer; 0: one more than usable cores."""
    search_timeout_s: float = Field(10.0, gt=0)
    """Deadline of a whole search."""
    rate_limit_user: int = Field(0, ge=0)
    """Maximum number of requests per minute and user, in each process; others get 429; 0: no limit."""

    # logs and metrics
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged; above debug, no query text is."""
    log_json: bool | None = None
    """true: JSON lines on stderr; false: plain text; unset: JSON unless stderr is a terminal."""
    metrics: Literal["keyed", "open", "off"] = "keyed"
    """Access to /metrics; keyed: with AUTH=api_key, keys with the scope metrics; open: everybody; off: nobody."""

    # feedback and agents
    feedback_days: int = Field(180, ge=0, le=36_500)
    """Days for which feedback on hits is kept with the queries, which are personal data; 0: none is taken, and what was
    stored is deleted within a day."""
    tools: Annotated[Items, AfterValidator(_check_tools)] = ()
    """Optional tools to offer agents, comma-separated: those that write, `add_document`, `delete_document`,
    `add_source` and `sync_source`, and `rate_passage`."""
    compat: Annotated[Items, _all(COMPAT.__contains__, _some_of(COMPAT))] = ()
    """Contracts of other platforms to serve, comma-separated: `chatgpt` (the tools `search` and `fetch`), `dify` (`POST
    /retrieval`)."""

    # documents
    chunk_tokens: int = Field(160, ge=40, le=400)
    """Target size of a chunk in tokens."""
    language: str = "auto"
    """Language of documents that name none: a BCP 47 tag, ISO 639 code or name; auto: it is detected, and is English
    where a text says too little."""
    ocr: Literal["auto", "off"] = "auto"
    """auto: text in scans and pictures is read if the extra `ocr` is installed; off: it is not read."""
    source_roots: Annotated[Items, _all(_is_absolute, "list absolute folders such as /srv/notes, comma-separated")] = ()
    """Folders that sources may be added from over HTTP, comma-separated; unset: none. With api_key each user may add
    folders below the subfolder with the user's name."""
    fetch_hosts: Annotated[
        Items, _all(is_pattern, "list host names such as docs.example.com, *.example.com or *, without scheme and path")
    ] = ()
    """Hosts of which `POST /documents` may fetch pages by their address, comma-separated: `docs.example.com`,
    `*.example.com` for those below it, `*` for all public ones; with `:` and a port another one than 80 and 443; unset:
    none."""
    entity_keys: Items = (
        *("attendees", "people", "participants", "speakers", "author", "project", "team", "vendor", "client"),
        *("customer", "organisation", "organization", "company", "product", "tags"),
    )
    """Metadata keys whose values name entities, comma-separated, with their type if it is not the key:
    `supplier:vendor`; applies to documents that are stored or linked again."""

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

    @property
    def optional_tools(self) -> frozenset[str]:
        """The optional tools that agents are offered."""
        return frozenset([*self.tools, *(name for one in self.compat for name in COMPAT[one])])

    @property
    def folder(self) -> Path:
        """The data folder of the embedded Postgres."""
        return self.data_dir or embedded_files.default_data_dir(os.environ, os.geteuid() == 0)

    @cached_property
    def hosts(self) -> tuple[str, ...] | None:
        """The allowed names in the Host header; None allows any."""
        if self.auth == "api_key" and not self.allowed_hosts:
            return None
        return (*LOOPBACK, self._host_of_url, *self.allowed_hosts)

    @property
    def address(self) -> str:
        """The URL of the service on this machine."""
        return f"http://{self._host_of_url}:{self.port}"

    @property
    def _host_of_url(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def searches_at_once(self) -> int:
        """The maximum number of concurrent searches; by default one more than the usable cores.

        One user never holds all of several places, so the additional one is free for another user.
        """
        return self.max_concurrent_searches or usable_cores() + 1

    def of_process(self, number: int) -> Settings:
        """The settings of one of the service's processes; the first, number 1, alone runs background work."""
        least = max(LEAST_SEARCHES, usable_cores() // self.workers)
        divided = {
            "pool_size": min(self.pool_size, MAX_CONNECTIONS // self.workers),
            "max_concurrent_searches": -(-self.max_concurrent_searches // self.workers) or least + 1,
            "worker": self.worker and number == 1,
        }
        return self.model_copy(update=divided)

    @property
    def model_threads(self) -> int:
        """The threads of each local model: the cores that each process has, at most MAX_MODEL_THREADS."""
        return max(1, min(usable_cores() // self.workers, MAX_MODEL_THREADS))

    def described(self) -> list[tuple[str, str, str]]:
        """Every setting as (environment variable, default, description), for docs/reference.md."""
        rows = []
        for name, spec in type(self).model_fields.items():
            default = spec.get_default(call_default_factory=True)
            shown = ",".join(default) if isinstance(default, tuple) else str("" if default is None else default)
            rows.append((_variables(name)[-1], shown, " ".join((spec.description or "").split())))
        return rows


def load(**overrides: Any) -> Settings:
    """Reads the environment and the files that it names; a keyword argument other than None takes precedence.

    Raises pydantic.ValidationError, which names each bad variable, and BadRequest for a file that cannot be read.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    return Settings(**_read_files() | given)


def _read_files() -> dict[str, str]:
    """The values in files by the names of their fields; they take precedence over variables."""
    found = {}
    variables = [(name, f"{one}{FILE_SUFFIX}") for name in Settings.model_fields for one in _variables(name)]
    for name, variable in variables:
        if path := os.environ.get(variable):
            try:
                found[name] = Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeError) as error:
                raise errors.BadRequest(f"The file {path} cannot be read.", field=variable) from error
    return found


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Names each variable that begins with STEPWELL_ and is no setting, with the nearest setting, as a sentence."""
    variables = [variable for name in Settings.model_fields for variable in _variables(name)]
    known = {*variables, *(f"{variable}{FILE_SUFFIX}" for variable in variables)}
    given = {name.upper(): name for name in (os.environ if environ is None else environ)}
    unknown = [name for name in given if name.startswith("STEPWELL_") and name not in known | OTHER_VARIABLES]
    return [f"{given[name]} is no setting and is ignored.{_hint(name, known)}" for name in sorted(unknown)]


def _hint(name: str, known: set[str]) -> str:
    from rapidfuzz import process

    nearest = process.extractOne(name, sorted(known), score_cutoff=NEAREST_SCORE)
    return f" Did you mean {nearest[0]}?" if nearest else ""


def _variables(name: str) -> list[str]:
    """The variables that set a field, the documented one last."""
    alias = Settings.model_fields[name].validation_alias
    return list(map(str, alias.choices)) if isinstance(alias, AliasChoices) else [f"STEPWELL_{name.upper()}"]


def wrong_variables(error: ValidationError) -> list[tuple[str, str]]:
    """The variables that are wrong, and why; without their values, which may be secrets."""
    found = []
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        name = str(one["loc"][0]) if one["loc"] else "the environment"
        variable = f"STEPWELL_{name.upper()}" if name in Settings.model_fields else name
        found.append((variable, one["msg"].removeprefix("Value error, ")))
    return found


def usable_cores() -> int:
    """Returns the number of cores that this process may use: by its affinity, and by the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *(quota for files in CPU_QUOTAS if (quota := _read_quota(files)))])


def _read_quota(files: Iterable[Path]) -> int:
    """The cores of a quota, rounded up; 0 if there is none."""
    try:
        quota, period = map(int, " ".join(file.read_text(encoding="ascii") for file in files).split())
    except (OSError, ValueError):  # no such file, or the quota is "max"
        return 0
    return -(-quota // period) if quota > 0 else 0


def exports_traces() -> bool:
    """Whether a variable of OpenTelemetry names where traces are sent to; each export may then take EXPORT_S at most.

    OpenTelemetry's own limit delays a stop by 31 s if nothing answers there.
    """
    os.environ.setdefault("OTEL_EXPORTER_OTLP_TIMEOUT", str(EXPORT_S))
    return any(name.startswith("OTEL_EXPORTER_OTLP") and name.endswith("ENDPOINT") for name in os.environ)


def plain(secret: SecretStr | None) -> str | None:
    """Returns the text of a secret."""
    return None if secret is None else secret.get_secret_value()


def environment() -> dict[str, str]:
    """Returns a copy of the process environment."""
    return dict(os.environ)
