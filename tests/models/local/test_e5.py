"""multilingual-e5-small reads many languages, from a file of weights whose package is never imported."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from app.errors import ProviderError
from app.models.local import e5
from app.runtime import configured_models
from app.settings import Settings

CANONICAL = json.loads((Path(__file__).parent / "canonical_e5.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [entry["text"] for entry in CANONICAL]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model(tmp_path_factory):
    settings = Settings(embedder="e5", data_dir=tmp_path_factory.mktemp("e5"))
    assert configured_models.embedding(settings) == ("multilingual-e5-small", 384)
    async with configured_models.open_embedder(settings) as embedder:
        assert e5.DESCRIBED.is_kept(settings.data_dir / "models")
        yield embedder


async def test_tokens_are_those_of_the_published_tokenizer_and_vectors_close_to_those_of_the_package(model):
    for entry, tokens in zip(CANONICAL, model._documents.encode(TEXTS), strict=True):
        assert tokens.ids == [0, *entry["ids"], 2]
    vectors = np.array(await model.embed_documents(TEXTS))
    assert (vectors * [entry["vector"] for entry in CANONICAL]).sum(axis=1).min() > 0.995


async def test_a_question_finds_passages_in_its_language_and_in_others(model):
    others = ["El pan se hornea a 230 grados.", "Το ψωμί ψήνεται.", "Ekmek 230 derecede pişer.", "面包在烤箱里烤。"]
    passages = np.array(await model.embed_documents([*TEXTS, *others]))
    scores = passages @ np.array(await model.embed_query("Where was rain kept?"))
    assert scores[: len(TEXTS)].min() > scores[len(TEXTS) :].max()
    for place, question in ((1, "¿Dónde se guardaba la lluvia?"), (3, "Yağmur nerede saklanırdı?")):
        assert (passages @ np.array(await model.embed_query(question))).argmax() == place


def test_tokens_begin_in_the_text_where_its_pieces_do(model):
    odd = ("  leading\u3000space, Cafe\u0301 か\u3099 ﬁ 👍🏽\n\n", "", "<s> </s> <pad>", "x" * 300)
    for text in (*TEXTS, " ".join(TEXTS) * 200, *odd):
        starts = list(model.model.token_starts(text))
        assert starts == sorted(starts)
        assert all(0 <= start < len(text) and not text[start].isspace() for start in starts)
        assert bool(starts) == bool(text.strip())


def test_e5_reads_many_languages_and_its_package_is_not_imported(model):
    assert {"el", "es", "tr", "zh"} < model.model.languages
    assert e5.PACKAGE not in sys.modules


async def test_without_the_extra_the_error_says_both_ways_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(e5, "PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ProviderError, match=r"stepwell\[multilingual\].*STEPWELL_EMBEDDER=hub"):
        async with configured_models.open_embedder(Settings(embedder="e5", data_dir=tmp_path)):
            pass
