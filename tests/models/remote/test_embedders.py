"""Each embedding API gets requests of its own, and no unusable vector is returned."""

from typing import Any

import numpy as np
import pytest
from fake_provider import FAULTS, FakeProvider

from app import errors
from app.runtime import configured_models
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

DIMENSION = 64
KEY = "sk-canary-0123456789"


@pytest.fixture
def remote(provider: FakeProvider) -> FakeProvider:
    """A server that embeds like the fake embedder."""
    provider.embedder = FakeEmbedder(dimension=DIMENSION)
    return provider


def _settings(kind: Any, provider: FakeProvider, **given: Any) -> Settings:
    fields = {"embedder_url": provider.url, "embedder_model": "tiny", "embedder_api_key": KEY}
    return Settings(embedder=kind, embedder_dim=DIMENSION, **{**fields, **given})


@pytest.mark.parametrize(
    ("kind", "path", "batch"),
    [
        ("gemini", "batchEmbedContents", 100),
        ("openai", "/embeddings", 32),
        ("ollama", "/api/embed", 32),
        ("tei", "/embed", 32),
    ],
)
async def test_queries_and_documents_get_their_vectors_in_order_in_batches_of_the_api(remote, kind, path, batch):
    fake = FakeEmbedder(dimension=DIMENSION)
    texts = [f"lime {number}" for number in range(2 * batch + 1)]
    async with configured_models.open_embedder(_settings(kind, remote)) as embedder:
        assert np.allclose(await embedder.embed_documents(texts), await fake.embed_documents(texts))
        assert np.allclose(await embedder.embed_query("water"), await fake.embed_query("water"))
        assert await embedder.embed_documents([]) == []
        assert embedder.model.dimension == DIMENSION
    assert [asked.endswith(path) for asked, _ in remote.requests[:3]] == [True] * 3
    assert len(remote.requests) == 4
    name, value = ("x-goog-api-key", KEY) if kind == "gemini" else ("authorization", f"Bearer {KEY}")
    assert remote.received_headers[name] == value


async def test_a_batch_that_a_server_refuses_is_sent_in_halves(remote: FakeProvider) -> None:
    def respond(request: dict[str, Any]) -> object:
        remote.status = 413 if len(request["input"]) > 10 else 200
        return {"data": [{"index": at, "embedding": [1.0] * DIMENSION} for at, _text in enumerate(request["input"])]}

    remote.respond = respond
    async with configured_models.open_embedder(_settings("openai", remote)) as embedder:
        vectors = await embedder.embed_documents([f"lime {number}" for number in range(32)])
    sent = [body["input"] for _path, body in remote.requests if len(body["input"]) <= 10]
    assert [text for batch in sent for text in batch] == [f"lime {number}" for number in range(32)]
    assert (len(vectors), len(remote.requests)) == (32, 7)


async def test_vectors_are_scaled_to_length_one(remote: FakeProvider) -> None:
    class Long(FakeEmbedder):
        def _embed(self, text: str) -> list[float]:
            return [7 * number for number in super()._embed(text)]

    remote.embedder = Long(dimension=DIMENSION)
    async with configured_models.open_embedder(_settings("gemini", remote)) as embedder:
        assert np.linalg.norm(await embedder.embed_query("water")) == pytest.approx(1)


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_is_a_provider_error_and_the_next_good_answer_is_used(remote, fault) -> None:
    expected = {"busy": "limit", "error": "server", "unauthorized": "key", "reset": "address", "silent": "time"}
    expected |= {"trickle": "time", "garbage": None, "truncated": None}
    named = expected.get(fault, "vectors")
    limit_s = 0.5 if named == "time" else 2.5  # less than a busy provider asks to wait
    async with configured_models.open_embedder(_settings("gemini", remote, model_timeout_s=limit_s)) as embedder:
        remote.misbehave(fault)
        with pytest.raises(errors.ProviderError) as raised:
            await embedder.embed_query("water")
        assert KEY not in repr(raised.value)
        if named is not None:
            assert raised.value.fault == named
        remote.misbehave(None)
        remote.requests.clear()
        if fault != "busy":
            # The call for documents has more time than that for a query, and is sent once all the same.
            assert [len(vector) for vector in await embedder.embed_documents(["water"])] == [DIMENSION]
            assert len(remote.requests) == 1


async def _sent(remote: FakeProvider, kind: str, **given: Any) -> list[dict[str, Any]]:
    """The bodies of the requests that embed a query and a document."""
    remote.requests.clear()
    async with configured_models.open_embedder(_settings(kind, remote, **given)) as opened:
        await opened.embed_query("water")
        await opened.embed_documents(["water"])
    return [body for _, body in remote.requests]


async def test_gemini_is_asked_for_the_task_and_the_dimension(remote: FakeProvider) -> None:
    given = {"embedder_model": None, "embedder_api_key": None, "gemini_api_key": KEY}
    asked = [body["requests"][0] for body in await _sent(remote, "gemini", **given)]
    assert [one["taskType"] for one in asked] == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]
    assert (asked[0]["model"], asked[0]["outputDimensionality"]) == ("models/gemini-embedding-001", DIMENSION)


async def test_the_prefixes_of_a_model_are_sent_and_can_be_set(remote: FakeProvider) -> None:
    query, document = await _sent(remote, "ollama", embedder_model=None)
    assert (query["input"], document["input"]) == (["search_query: water"], ["search_document: water"])
    assert query["model"] == "nomic-embed-text"
    given = {"embedder_query_prefix": "", "embedder_document_prefix": "passage: "}
    sent = await _sent(remote, "ollama", embedder_model=None, **given)
    assert [body["input"] for body in sent] == [["water"], ["passage: water"]]


async def test_only_resizable_models_of_openai_get_a_dimension(remote: FakeProvider) -> None:
    for name, dimension in (("text-embedding-3-large", DIMENSION), ("tiny", None)):
        assert {body.get("dimensions") for body in await _sent(remote, "openai", embedder_model=name)} == {dimension}


@pytest.mark.parametrize(
    "body",
    [
        *({}, [], None, 5, {"data": None}, {"data": [{"index": 0}]}, {"data": [{"index": [], "embedding": []}]}),
        {"data": [{"index": 1, "embedding": [0.1] * DIMENSION}]},
        *({"data": [{"index": 0, "embedding": bad}]} for bad in (None, "x", 5, ["1"] * DIMENSION, [True] * DIMENSION)),
        b'{"data": [{"index": 0, "embedding": [1' + b"0" * 400 + b"," + b"0," * (DIMENSION - 2) + b"0]}]}",
    ],
    ids=lambda body: repr(body)[:40],
)
async def test_an_answer_that_does_not_follow_the_api_is_a_provider_error(provider: FakeProvider, body: Any) -> None:
    provider.body = body
    async with configured_models.open_embedder(_settings("openai", provider)) as opened:
        with pytest.raises(errors.ProviderError):
            await opened.embed_query("water")


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({"embedder": "openai"}, "STEPWELL_EMBEDDER_URL and STEPWELL_EMBEDDER_MODEL"),
        ({"next_embedder": "tei"}, "url in STEPWELL_NEXT_EMBEDDER and model in STEPWELL_NEXT_EMBEDDER"),
        ({"embedder": "tei", "embedder_url": "http://x"}, "STEPWELL_EMBEDDER_MODEL"),
        ({"embedder": "gemini"}, "GEMINI_API_KEY"),
        ({"embedder_model": "BAAI/bge-small-en-v1.5"}, "STEPWELL_EMBEDDER=minilm .* or unset STEPWELL_EMBEDDER_MODEL"),
        ({"next_embedder": '{"embedder": "e5", "url": "http://x"}'}, "or unset url in STEPWELL_NEXT_EMBEDDER"),
    ],
)
def test_an_incomplete_setting_is_rejected_at_start(fields: dict[str, Any], needed: str) -> None:
    with pytest.raises(ValueError, match=needed):
        Settings(**fields)
    assert configured_models.embedding(Settings(embedder="ollama")) == ("nomic-embed-text", 768)


@pytest.mark.parametrize("fields", [{"embedder": "tei", "embedder_url": "http://x"}, {"embedder": "ollama"}])
def test_the_dimension_of_an_unknown_model_is_needed(fields: dict[str, Any]) -> None:
    with pytest.raises(errors.ProviderError, match="STEPWELL_EMBEDDER_DIM"):
        configured_models.embedding(Settings(embedder_model="x", **fields))


async def test_only_a_model_on_another_machine_is_called_by_the_proxy_of_the_environment(remote, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", remote.url)
    far = _settings("openai", remote, embedder_url="http://models.example.com/v1")
    async with configured_models.open_embedder(far) as embedder:
        assert len(await embedder.embed_query("lime")) == DIMENSION
    assert remote.requests[0][0] == "http://models.example.com/v1/embeddings"
    for near in ("http://127.0.0.1:9/v1", "http://localhost:9/v1", "http://[::1]:9/v1", "http://0.0.0.0:9/v1"):
        async with configured_models.open_embedder(_settings("openai", remote, embedder_url=near)) as embedder:
            with pytest.raises(errors.ProviderError, match="refused the connection"):
                await embedder.embed_query("lime")


@pytest.mark.parametrize("proxy", ["ftp://127.0.0.1:9", "proxy:port"])
async def test_a_proxy_without_an_address_is_named_at_the_start(remote, monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(errors.BadRequest, match="ALL_PROXY is not the address of a proxy"):
        async with configured_models.open_embedder(_settings("openai", remote, embedder_url="http://example.com")):
            pass
