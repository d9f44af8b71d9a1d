"""Opens and closes the configured embedder, language model and re-ranker."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from app import errors
from app.concurrency import offload
from app.database.schema import reembedding
from app.database.transactions import Database
from app.models import known_models
from app.models.local import e5, int8_model, minilm, model_folder
from app.models.local.hub import Hub, Repository
from app.models.local.model_folder import Overrides
from app.models.local.onnx_embedder import OnnxEmbedder
from app.models.local.onnx_reranker import OnnxReranker, UnloadedReranker
from app.models.protocols import Embedder, EmbeddingModel, Llm, Reranker
from app.models.remote import chat, embedders, rerankers
from app.models.remote.embedders import HttpEmbedder
from app.models.remote.rerankers import HttpReranker
from app.models.remote_calls import BULK_PATIENCE_S, CallTimes
from app.query.model_replacement import SwitchingEmbedder
from app.settings import Settings, plain

if TYPE_CHECKING:
    from app.models.remote.gemini import GeminiEmbedder, GeminiLlm

log = logging.getLogger(__name__)

COMMAND_PATIENCE_S = 900.0
"""Seconds for which a command sends passages again while a remote embedder fails; then it ends and can be repeated."""


def embedding(settings: Settings) -> tuple[str, int]:
    """Returns the name and dimension of the configured embedding model. Raises ProviderError."""
    model = _embedding_model(settings)
    return model.name, model.dimension


def _embedding_model(settings: Settings) -> EmbeddingModel:
    if settings.embedder == "minilm":
        return minilm.MODEL
    if settings.embedder == "e5":
        return e5.MODEL
    if settings.embedder == "hub":
        name = _repository(settings.embedder_model).name
        model = _known_model(settings, name)
        if model.dimension and model.max_tokens:
            return EmbeddingModel(name, model.dimension, model.max_tokens, languages=model.languages)
    if settings.embedder in ("onnx", "hub"):
        return model_folder.describe(*_find_folder(settings))
    name = settings.embedder_model or embedders.DEFAULT_MODELS.get(settings.embedder, "")
    known = _known_model(settings, name)
    if not known.dimension:
        raise errors.ProviderError(
            f"The dimension of {name} is not known: set STEPWELL_EMBEDDER_DIM, or dim of the next embedder."
        )
    max_tokens = known.max_tokens or model_folder.DEFAULT_MAX_TOKENS
    return EmbeddingModel(name, known.dimension, max_tokens, languages=known.languages)


def _known_model(settings: Settings, name: str) -> known_models.KnownModel:
    """What is known of a remote model, or what the settings say instead."""
    changed = {field: value for field, value in asdict(_overrides(settings)).items() if value is not None}
    return replace(known_models.find(name), **changed)


def target(settings: Settings) -> tuple[str, int] | None:
    """Returns the name and dimension of the model to which `reembed` changes; None without one."""
    following = settings.next()
    return None if following is None else embedding(following)


@asynccontextmanager
async def open_stored(
    settings: Settings, database: Database, *, patience_s: float = BULK_PATIENCE_S
) -> AsyncIterator[SwitchingEmbedder]:
    """Opens the configured embedder, and the next one if the settings name one.

    If the stored vectors are already those of the next model, only its embedder is opened. Raises ProviderError,
    SchemaMismatch.
    """
    stored = await reembedding.read_stored(database)
    following = settings.next()
    async with AsyncExitStack() as stack:
        opened = []
        if following is None or embedding(following) != stored.name:
            opened.append(await stack.enter_async_context(open_embedder(settings, patience_s=patience_s)))
        if following is not None:
            opened.append(await stack.enter_async_context(open_embedder(following, patience_s=patience_s)))
        yield SwitchingEmbedder(opened, stored)


@asynccontextmanager
async def open_embedder(settings: Settings, *, patience_s: float = BULK_PATIENCE_S) -> AsyncIterator[Embedder]:
    """Opens the configured embedder. Raises ProviderError.

    Passages are sent again to a failing remote embedder for `patience_s` seconds.
    """
    async with aclosing(await _embedder(settings, patience_s)) as model:
        yield model


async def _embedder(settings: Settings, patience_s: float) -> OnnxEmbedder | HttpEmbedder | GeminiEmbedder:
    threads = settings.model_threads
    if settings.embedder == "minilm":
        folder = await offload.wait_for(minilm.find, _hub(settings))
        return await int8_model.load(minilm.DESCRIBED, folder, threads=threads, cache=computed_weights(settings))
    if settings.embedder == "e5":
        return await int8_model.load(
            e5.DESCRIBED, e5.locate_package(), threads=threads, cache=computed_weights(settings)
        )
    if settings.embedder in ("onnx", "hub"):
        folder, given = await offload.wait_for(_find_folder, settings)
        return await offload.wait_for(model_folder.load_embedder, folder, given, threads=threads)
    model = _embedding_model(settings)
    times = CallTimes(settings.model_timeout_s, patience_s)
    if settings.embedder == "gemini":
        from app.models.remote.gemini import GeminiEmbedder  # its package takes a second to import

        api_key = plain(settings.embedder_api_key or settings.gemini_api_key) or ""
        return GeminiEmbedder(model, api_key=api_key, url=settings.embedder_url, times=times)
    api = embedders.APIS[settings.embedder]
    return HttpEmbedder(
        api,
        model,
        url=settings.embedder_url or api.url,
        api_key=plain(settings.embedder_api_key),
        known=_known_model(settings, model.name),
        times=times,
    )


def computed_weights(settings: Settings) -> Path | None:
    """Returns the folder for weights that are computed at the first start; None if the service has no data folder.

    It has none if DATABASE_URL is set and STEPWELL_DATA_DIR is not.
    """
    if settings.database_url is not None and settings.data_dir is None:
        return None
    return settings.folder / "models"


def _hub(settings: Settings) -> Hub:
    return Hub(settings.model_hub, settings.folder / "models")


def _repository(name: str | None) -> Repository:
    full_name = known_models.repository(name or "")
    return Repository(full_name, digests=known_models.DIGESTS.get(full_name, {}))


def _folder(name: str | None) -> Path:
    return Path(name or "").expanduser()


def _find_folder(settings: Settings) -> tuple[Path, Overrides]:
    """The folder of the embedder `onnx` or `hub`, which is downloaded first, and what the settings say of its model."""
    if settings.embedder == "onnx":
        return _folder(settings.embedder_model), _overrides(settings)
    repository = _repository(settings.embedder_model)
    return _hub(settings).fetch(repository), _overrides(settings, repository.name)


def _overrides(settings: Settings, name: str | None = None) -> Overrides:
    return Overrides(
        settings.embedder_dim,
        settings.embedder_max_tokens,
        settings.embedder_query_prefix,
        settings.embedder_document_prefix,
        name,
    )


@asynccontextmanager
async def open_llm(settings: Settings) -> AsyncIterator[Llm | None]:
    """Opens the configured language model; None without one."""
    if settings.llm == "none":
        yield None
        return
    async with aclosing(await offload.wait_for(_llm, settings)) as model:
        yield model


def _llm(settings: Settings) -> chat.ChatLlm | GeminiLlm:
    secret = plain(settings.llm_api_key or (settings.gemini_api_key if settings.llm == "gemini" else None))
    times = CallTimes(settings.model_timeout_s)
    if settings.llm == "gemini":
        # Its package takes a second to import.
        from app.models.remote import gemini

        return gemini.GeminiLlm(
            api_key=secret or "", model=settings.llm_model or gemini.MODEL, url=settings.llm_url, times=times
        )
    return chat.ChatLlm(
        kind="ollama" if settings.llm == "ollama" else "openai",
        url=settings.llm_url or embedders.OLLAMA_URL,
        model=settings.llm_model or chat.OLLAMA_MODEL,
        api_key=secret,
        times=times,
    )


@asynccontextmanager
async def open_reranker(settings: Settings) -> AsyncIterator[Reranker | None]:
    """Opens the configured cross-encoder; None without one.

    If a model in a folder cannot be loaded, a model whose calls fail is opened, because searches work without it.
    """
    kind = settings.reranker
    if kind == "cosine":
        yield None
        return
    model: OnnxReranker | UnloadedReranker | HttpReranker
    if kind == "onnx" or kind == "hub":
        model = await offload.wait_for(_onnx_reranker, settings)
    else:
        url, name = rerankers.ADDRESSES.get(kind, ("", None))
        model = HttpReranker(
            kind=kind,
            url=settings.reranker_url or url,
            model=settings.reranker_model or name,
            api_key=plain(settings.reranker_api_key),
            times=CallTimes(settings.model_timeout_s),
        )
    async with aclosing(model):
        yield model


def _onnx_reranker(settings: Settings) -> OnnxReranker | UnloadedReranker:
    folder, repository = _folder(settings.reranker_model), _repository(settings.reranker_model)
    name = repository.name if settings.reranker == "hub" else folder.name
    try:
        folder = _hub(settings).fetch(repository) if settings.reranker == "hub" else folder
        return model_folder.load_reranker(folder, name=name, threads=settings.model_threads)
    except errors.ProviderError as error:
        log.warning("the re-ranker cannot be loaded: %s", error.message, extra={"action": "reranker_failed"})
        return UnloadedReranker(name, error)
