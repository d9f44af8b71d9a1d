"""Implements `stepwell doctor`: checks an installation and names the setting or command that corrects each finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import pydantic
import typer
from rich.markup import escape
from rich.table import Table

from app import errors, runtime
from app import settings as config
from app.cli import options, terminal
from app.database import driver_errors
from app.database.schema import inspection
from app.errors import ProviderFault
from app.maintenance import doctor as pipeline
from app.maintenance.doctor import Finding
from app.models import unit_vectors
from app.models.protocols import Embedder, Llm, Reranker
from app.runtime import configured_models
from app.settings import Settings

PASSAGE = "The survey of the well in Lundby was written by Ada Brandt."
_FIXES: dict[ProviderFault | None, str] = {
    "address": "Start the server at {host}, or correct {url}.",
    "tls": "Correct {url} ({host}): use http for a server without TLS; a certificate must be trusted here.",
    "time": "Check the server at {host}, or raise STEPWELL_MODEL_TIMEOUT_S.",
    "key": "Correct {api_key}.",
    "model": "Correct {model}, or the path in {url}.",
    "limit": "Wait, or raise the limits of the account at {host}.",
    "request": "Correct {model} and {url}: the server at {host} rejects the request.",
    "server": "Look into the log of the server at {host}.",
    "answer": "Correct {prefix}: the server at {host} speaks another API, or {url} has another path.",
    "vectors": "Correct {dim} or {model}.",
    None: "Check {prefix}.",
}
MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "error": "[red]error[/]"}


def doctor(as_json: options.AsJson = False, data_dir: options.DataDir = None) -> None:
    """Check the database, the model and the settings; the exit status is 1 if an error is found."""
    try:
        settings = options.settings(data_dir)
    except pydantic.ValidationError as error:
        wrong = config.wrong_variables(error)
        findings = [Finding("settings", "error", reason, f"Correct {variable}.") for variable, reason in wrong]
    else:
        findings = options.run(_examine(settings))
    if as_json:
        terminal.write_json({"findings": [dataclasses.asdict(finding) for finding in findings]})
    else:
        _print(findings)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


async def _examine(settings: Settings) -> list[Finding]:
    findings = [_settings(settings), *await _database(settings)]
    findings += await _try_models(settings)
    if settings.database_url is None:
        findings.append(pipeline.disk(inspection.free_bytes(settings.folder), str(settings.folder)))
    return findings


def _settings(settings: Settings) -> Finding:
    try:
        runtime.chunking_options(settings)
    except errors.BadRequest as error:
        return Finding("settings", "error", error.message, f"Correct {error.field}.")
    users = "" if settings.auth == "api_key" else ": one user"
    return Finding("settings", "ok", f"AUTH={settings.auth}{users}, on {settings.host}:{settings.port}")


async def _database(settings: Settings) -> list[Finding]:
    target = None
    with suppress(errors.ProviderError):  # a finding of the next embedder
        target = configured_models.target(settings)
    try:
        model, dimension = configured_models.embedding(settings)
    except errors.ProviderError as error:
        return [Finding("database", "error", f"Not checked: {error.message}", "Correct STEPWELL_EMBEDDER_MODEL.")]
    expected = pipeline.Expected(model, dimension, many_users=settings.auth == "api_key", target=target)
    try:
        async with AsyncExitStack() as stack:
            database = await stack.enter_async_context(runtime.open_database(settings, pool_size=1))
            await runtime.open_reads(settings, database, 1, stack)
            return await pipeline.database(database, expected)
    except errors.SchemaMismatch as error:
        return [Finding("database", "error", error.message)]
    except errors.BadRequest as error:
        return [Finding("database", "error", error.message, f"Correct {error.field}.")]
    except Exception as error:
        fix = "Correct DATABASE_URL." if settings.database_url else "Check STEPWELL_DATA_DIR and its postgres/log."
        return [Finding("database", "error", driver_errors.reason(error), fix)]


async def embed(model: Embedder) -> str:
    """Embeds a query; returns a sentence on the dimensions. Raises ProviderError."""
    vector = await model.embed_query("test query")
    unit_vectors.unit_vectors([vector], count=1, dimension=model.model.dimension)
    return f"{model.model.name} returns {len(vector)} dimensions"


async def propose(model: Llm) -> str:
    """Asks for terms from a passage; returns a sentence on their number. Raises ProviderError."""
    proposed = await model.propose("Who wrote the survey?", [PASSAGE])
    return f"{model.name} proposes {len(proposed.terms)} terms"


async def score(model: Reranker) -> str:
    """Scores a passage; returns a sentence that it did. Raises ProviderError."""
    await model.scores("survey", [PASSAGE])
    return f"{model.name} scores a passage"


CALLS: dict[str, tuple[Callable[[Settings], AbstractAsyncContextManager[Any]], Callable[[Any], Awaitable[str]]]] = {
    "embedder": (configured_models.open_embedder, embed),
    "llm": (configured_models.open_llm, propose),
    "reranker": (configured_models.open_reranker, score),
}
"""How each model is opened, and the call with which it is tried."""


async def _try_models(settings: Settings) -> list[Finding]:
    """Tries each configured model with one call."""
    tried = [(name, settings) for name in CALLS]
    if (following := settings.next()) is not None:
        tried.append(("next_embedder", following))
    unused = settings.unused_llm_key()
    findings = [] if unused is None else [Finding("llm", "ok", *unused)]
    for name, given in tried:
        open_model, call = CALLS[name.removeprefix("next_")]
        try:
            async with open_model(given) as model:
                if model is not None:
                    findings.append(Finding(name, "ok", await call(model)))
        except errors.ProviderError as error:
            findings.append(Finding(name, "error", error.message, _fix(error, name, given)))
        except errors.BadRequest as error:  # the proxy of the environment, which the message names
            findings.append(Finding(name, "error", error.message))
    return findings


def _fix(error: errors.ProviderError, name: str, settings: Settings) -> str:
    """The setting that corrects a failed call of a model."""
    model, prefix = name.removeprefix("next_"), f"STEPWELL_{name.upper()}"
    parts = ("url", "model", "dim", "api_key")
    named = {part: f"{prefix}_{part.upper()}" if model == name else f"{part} in {prefix}" for part in parts}
    kind, url = getattr(settings, model), getattr(settings, f"{model}_url")
    if kind == "gemini" and getattr(settings, f"{model}_api_key") is None:
        named["api_key"] = "GEMINI_API_KEY"
    host = urlsplit(url).netloc.rpartition("@")[2] if url else kind
    return _FIXES[error.fault].format(prefix=prefix, host=host, **named)


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 1))
    for name in ("level", "name", "message"):
        table.add_column(name, overflow="fold")  # a path is not cut
    for finding in findings:
        fix = f"\n[bold]→[/] {escape(finding.fix)}" if finding.fix else ""
        table.add_row(MARKS[finding.level], finding.name, escape(finding.message) + fix)
    terminal.out.print(table)
