"""Implements `stepwell doctor`: checks an installation and names the setting or command that corrects each finding."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pydantic
import typer
from pydantic import SecretStr
from rich.markup import escape
from rich.table import Table

from app import errors, runtime
from app.cli import options, ownership, terminal
from app.database import driver_errors
from app.database.schema import health
from app.errors import ProviderFault
from app.maintenance import doctor as pipeline
from app.maintenance.doctor import Finding
from app.models import base
from app.models.base import Embedder, Llm, Reranker
from app.runtime import models
from app.settings import Settings

PASSAGE = "The survey of the well in Lundby was written by Ada Brandt."
_FIXES: dict[ProviderFault | None, str] = {
    "address": "Start the server at {host}, or correct {url}.",
    "tls": "Correct {url} ({host}): use http for a server without TLS; a certificate must be trusted here.",
    "time": "Check the server at {host}, or raise STEPWELL_MODEL_TIMEOUT_S.",
    "key": "Correct {key}.",
    "model": "Correct {model}, or the path in {url}.",
    "limit": "Wait, or raise the limits of the account at {host}.",
    "request": "Correct {model} and {url}: the server at {host} rejects the request.",
    "server": "Look into the log of the server at {host}.",
    "answer": "Correct {prefix}: the server at {host} speaks another API, or {url} has another path.",
    "vectors": "Correct {dim} or {model}.",
    None: "Check {prefix}.",
}
MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "error": "[red]error[/]"}


def doctor(
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Check the database, the model and the settings; the exit status is 1 if an error is found."""
    try:
        settings = options.settings(data_dir)
    except pydantic.ValidationError as error:
        findings, shown = _unusable(error), {}
    else:
        findings = options.run(_examine(settings))
        shown = _settings(settings)
    if as_json:
        printed = [dataclasses.asdict(finding) for finding in findings]
        terminal.write_json({"findings": printed, "settings": {name: value for name, (value, _) in shown.items()}})
    else:
        _print(findings, {name: value for name, (value, changed) in shown.items() if changed})
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


async def _examine(settings: Settings) -> list[Finding]:
    findings = [
        _auth(settings),
        *await _database(settings),
        *[one async for one in _models(settings)],
    ]
    if settings.database_url is None:
        findings.append(pipeline.disk(health.free_bytes(settings.folder), str(settings.folder)))
    return findings


def _auth(settings: Settings) -> Finding:
    if settings.auth != "api_key":
        return Finding("settings", "ok", f"AUTH={settings.auth}: one user, on {settings.host} only")
    return Finding("settings", "ok", f"AUTH=api_key on {settings.host}:{settings.port}")


async def _database(settings: Settings) -> list[Finding]:
    try:
        model, dimension = models.embedding(settings)
    except errors.ProviderError as error:
        return [Finding("database", "error", f"Not checked: {error.message}", "Correct STEPWELL_EMBEDDER_MODEL.")]
    expected = pipeline.Expected(
        model,
        dimension,
        many_users=settings.auth == "api_key",
        users=(options.LOCAL,),
        chunking_options=runtime.chunking_options(settings),
        target=models.target(settings),
    )
    try:
        async with AsyncExitStack() as stack:
            database = await stack.enter_async_context(runtime.open_database(settings, pool_size=1))
            owner = None
            if settings.database_url is None or settings.migration_url is not None:
                with suppress(errors.StepwellError):
                    owner = await stack.enter_async_context(ownership.open_owner(settings))
            await runtime.open_reads(settings, database, 1, stack)
            return await pipeline.database(database, expected, owner=owner)
    except errors.SchemaMismatch as error:
        return [Finding("database", "error", error.message)]
    except Exception as error:
        fix = "Correct DATABASE_URL." if settings.database_url else "Check STEPWELL_DATA_DIR and its postgres.log."
        return [Finding("database", "error", driver_errors.reason(error), fix)]


@dataclasses.dataclass(frozen=True, slots=True)
class ModelSettings:
    """Where a model is configured: the prefix of its variables, its host, and the variable of its key."""

    name: str
    prefix: str
    host: str
    key: str

    def describe_failure(self, error: errors.ProviderError) -> Finding:
        """The finding about a failed call."""
        named = {part: self._variable(part) for part in ("url", "model", "dim")}
        fix = _FIXES[error.fault].format(prefix=self.prefix, host=self.host, key=self.key, **named)
        return Finding(self.name, "error", error.message, fix)

    def _variable(self, part: str) -> str:
        return f"{part} in {self.prefix}" if self.name == "next_embedder" else f"{self.prefix}_{part.upper()}"


async def embed(model: Embedder) -> str:
    """What the model says of a query: its dimensions. Raises ProviderError."""
    vector = await model.embed_query("test query")
    base.unit_vectors([vector], count=1, dimension=model.model.dimension)
    return f"{model.model.name} returns {len(vector)} dimensions"


async def propose(model: Llm) -> str:
    """How many terms the model proposes for a passage. Raises ProviderError."""
    proposed = await model.propose("Who wrote the survey?", [PASSAGE])
    return f"{model.name} proposes {len(proposed.terms)} terms"


async def score(model: Reranker) -> str:
    """Whether the model scores a passage. Raises ProviderError."""
    await model.scores("survey", [PASSAGE])
    return f"{model.name} scores a passage"


CALLS: dict[str, tuple[Callable[[Settings], AbstractAsyncContextManager[Any]], Callable[[Any], Awaitable[str]]]] = {
    "embedder": (models.open_embedder, embed),
    "llm": (models.open_llm, propose),
    "reranker": (models.open_reranker, score),
}
"""How each model is opened, and the call with which it is tried."""


async def _models(settings: Settings) -> AsyncIterator[Finding]:
    """Tries each configured model with one call."""
    if (unused := options.unused_llm_key(settings)) is not None:
        yield Finding("llm", "ok", *unused)
    for name in CALLS:
        if (finding := await _try(settings, name, _model_settings(settings, name))) is not None:
            yield finding
    if (following := settings.next()) is not None:
        named = dataclasses.replace(
            _model_settings(following, "embedder"), name="next_embedder", prefix="STEPWELL_NEXT_EMBEDDER"
        )
        if (finding := await _try(following, "embedder", named)) is not None:
            yield finding


async def _try(settings: Settings, name: str, named: ModelSettings) -> Finding | None:
    """The finding about one call of a model; None if none is configured."""
    open_model, call = CALLS[name]
    try:
        async with open_model(settings) as model:
            return None if model is None else Finding(named.name, "ok", await call(model))
    except errors.ProviderError as error:
        return named.describe_failure(error)


def _model_settings(settings: Settings, name: str) -> ModelSettings:
    kind, prefix = getattr(settings, name), f"STEPWELL_{name.upper()}"
    url = getattr(settings, f"{name}_url")
    own_key = getattr(settings, f"{name}_api_key") is not None
    key = "GEMINI_API_KEY" if kind == "gemini" and not own_key else f"{prefix}_API_KEY"
    return ModelSettings(name, prefix, urlsplit(url).netloc.rpartition("@")[2] if url else kind, key)


def _unusable(error: pydantic.ValidationError) -> list[Finding]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [Finding("settings", "error", one["msg"], f"Correct {_variable(one['loc'])}.") for one in found]


def _variable(place: tuple[int | str, ...]) -> str:
    name = str(place[0]) if place else "the environment"
    return f"STEPWELL_{name.upper()}" if name in Settings.model_fields else name


def _settings(settings: Settings) -> dict[str, tuple[Any, bool]]:
    """Each variable's value with secrets masked, and whether it is not the default."""
    shown = {}
    fields = type(settings).model_fields
    for (variable, _default, _meaning), (name, field) in zip(settings.described(), fields.items(), strict=True):
        value, default = getattr(settings, name), field.get_default(call_default_factory=True)
        shown[variable] = _mask(name, value), value != default
    return shown


def _mask(name: str, value: Any) -> Any:
    """A value with secrets masked."""
    if isinstance(value, SecretStr) or (name.endswith("url") and value):
        return _address(value)
    if isinstance(value, pydantic.BaseModel):
        return {part: _mask(part, inner) for part, inner in value if inner is not None}
    return ",".join(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value


def _address(secret: str | SecretStr) -> str:
    """Returns scheme, user, host, path and sslmode of an address; everything else is masked."""
    secret = secret.get_secret_value() if isinstance(secret, SecretStr) else secret
    try:
        parts = urlsplit(secret)
        host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return "***"
    if not parts.scheme or not parts.netloc:
        return "***"
    mode = "".join(f"?sslmode={value}" for name, value in parse_qsl(parts.query) if name == "sslmode")
    return f"{parts.scheme}://{parts.username or ''}{':***' if parts.password else ''}@{host}{parts.path}{mode}"


def _print(findings: list[Finding], changed: dict[str, Any]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 1))
    for finding in findings:
        fix = f"\n[bold]→[/] {escape(finding.fix)}" if finding.fix else ""
        table.add_row(MARKS[finding.level], finding.name, escape(finding.message) + fix)
    options.out.print(table)
    if changed:
        options.out.print("\nSettings that are not the defaults:")
        for name, value in changed.items():
            options.out.print(f"  {name}={escape(str(value))}")
