"""Tries the configured models with one call each; a finding names the setting that corrects a failure."""

from __future__ import annotations

from dataclasses import dataclass

from app import errors
from app.errors import ProviderFault
from app.maintenance.doctor import Finding
from app.models import base
from app.models.base import Embedder, Llm, Reranker

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


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Where a model is configured: the prefix of its variables, its host, and the variable of its key."""

    name: str
    prefix: str
    host: str
    key: str

    def failed(self, error: errors.ProviderError) -> Finding:
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
    precision = f" ({model.model.precision})" if model.model.precision else ""
    return f"{model.model.name}{precision} returns {len(vector)} dimensions"


async def propose(model: Llm) -> str:
    """How many terms the model proposes for a passage. Raises ProviderError."""
    proposed = await model.propose("Who wrote the survey?", [PASSAGE])
    return f"{model.name} proposes {len(proposed.terms)} terms"


async def score(model: Reranker) -> str:
    """Whether the model scores a passage. Raises ProviderError."""
    await model.scores("survey", [PASSAGE])
    return f"{model.name} scores a passage"
