"""`stepwell doctor` tries each configured model with one call and names the setting that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from fake_provider import FakeProvider
from typer.testing import CliRunner

from app.__main__ import app
from app.maintenance.commands import doctor
from app.maintenance.doctor import Finding
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

KEY = "sk-canary-0123456789"
DIMENSION = 64


async def _findings(**given: Any) -> dict[str, Finding]:
    """The findings by model; the embedder cannot be reached unless it is given."""
    nowhere = {"embedder": "openai", "embedder_url": "http://127.0.0.1:9", "embedder_model": "tiny", "embedder_dim": 8}
    given = {**nowhere, **given}
    return {finding.name: finding for finding in await doctor._try_models(Settings(**given))}


async def _embedder(provider: FakeProvider, **given: Any) -> Finding:
    fields = {"embedder_url": f"{provider.url}/v1", "embedder_model": "tiny", "embedder_dim": DIMENSION}
    chosen = {"embedder": "openai", "embedder_api_key": KEY, "model_timeout_s": 0.5, **fields, **given}
    found = (await _findings(**chosen))["embedder"]
    assert KEY not in str(found)
    return found


async def test_models_that_answer_are_described(provider: FakeProvider) -> None:
    provider.embedder = FakeEmbedder(dimension=DIMENSION)
    assert (await _embedder(provider)).message == "tiny returns 64 dimensions"
    provider.embedder = None
    provider.openai('{"terms": ["Ada Brandt"]}')
    llm = {"llm": "openai", "llm_url": provider.url, "llm_model": "tiny"}
    found = await _findings(**llm)
    assert {name: finding.level for name, finding in found.items()} == {"embedder": "error", "llm": "ok"}
    assert found["llm"].message == "tiny proposes 1 terms"
    provider.rerank([0.5])
    found = await _findings(reranker="cohere", reranker_url=provider.url)
    assert found["reranker"].message == "rerank-v3.5 scores a passage"
    found = await _findings(reranker="tei", reranker_url=provider.url)
    assert (found["reranker"].level, found["reranker"].fix) == (
        "error",
        f"Correct STEPWELL_RERANKER: the server at {provider.url.removeprefix('http://')} speaks another API, "
        "or STEPWELL_RERANKER_URL has another path.",
    )


@pytest.mark.parametrize(
    ("fault", "message", "fix"),
    [
        ("unauthorized", "status 401", "Correct STEPWELL_EMBEDDER_API_KEY."),
        ("busy", "status 429", "Wait, or raise the limits of the account at"),
        ("error", "status 500", "Look into the log of the server at 127.0.0.1:"),
        ("reset", "could not be reached or closed", "Start the server at 127.0.0.1:"),
        ("silent", "in time", "raise STEPWELL_MODEL_TIMEOUT_S"),
        ("garbage", "did not answer with JSON", "speaks another API"),
        ("wrong_dimension", "63 dimensions instead of 64", "Correct STEPWELL_EMBEDDER_DIM"),
        ("wrong_count", "2 vectors for 1 texts", "STEPWELL_EMBEDDER_MODEL"),
        ("nan", "not finite", "STEPWELL_EMBEDDER_MODEL"),
    ],
)
async def test_what_is_wrong_with_the_embedder_is_named(provider, fault, message, fix) -> None:
    provider.embedder = FakeEmbedder(dimension=DIMENSION)
    provider.misbehave(fault)
    found = await _embedder(provider)
    assert found.level == "error"
    assert message in found.message
    assert fix in found.fix


async def test_a_wrong_model_host_scheme_and_key_of_gemini_are_named(provider: FakeProvider) -> None:
    provider.status, provider.body = 404, {"error": "model not found"}
    assert "STEPWELL_EMBEDDER_MODEL" in (await _embedder(provider)).fix
    assert "STEPWELL_EMBEDDER_URL" in (await _embedder(provider, embedder_url="http://127.0.0.1:9/v1")).fix
    encrypted = await _embedder(provider, embedder_url=provider.url.replace("http:", "https:"))
    assert "TLS" in encrypted.message
    provider.status = 400
    provider.body = {"error": {"code": 400, "message": "no", "details": [{"reason": "API_KEY_INVALID"}]}}
    gemini: dict[str, Any] = {
        "embedder": "gemini",
        "embedder_api_key": None,
        "gemini_api_key": KEY,
        "embedder_url": provider.url,
        "model_timeout_s": 30.0,  # what its package imports for the first call can take a second
    }
    assert (await _embedder(provider, **gemini)).fix == "Correct GEMINI_API_KEY."


def test_a_folder_without_a_model_is_a_finding(tmp_path: Path) -> None:
    environment = {"STEPWELL_EMBEDDER": "onnx", "STEPWELL_EMBEDDER_MODEL": str(tmp_path / "nothing")}
    environment |= {"STEPWELL_DATA_DIR": str(tmp_path / "data"), "STEPWELL_RERANKER": "onnx"}
    environment |= {"STEPWELL_RERANKER_MODEL": str(tmp_path), "STEPWELL_LLM_URL": f"http://me:{KEY}@127.0.0.1/"}
    ran = CliRunner().invoke(app, ["doctor", "--json"], env=environment)
    assert ran.exit_code == 1
    findings = {finding["name"]: finding for finding in json.loads(ran.stdout)["findings"]}
    assert "no folder with a model" in findings["embedder"]["message"]
    assert "STEPWELL_EMBEDDER_MODEL" in findings["embedder"]["fix"]
    assert findings["database"]["level"] == "error"
    assert "no model.onnx" in findings["reranker"]["message"]
    assert KEY not in ran.stdout


@pytest.mark.parametrize(
    ("environment", "name", "said"),
    [
        ({"STEPWELL_NEXT_EMBEDDER": '{"embedder": "onnx", "model": "/nothing"}'}, "next_embedder", "no folder"),
        (
            {"STEPWELL_LLM": "openai", "STEPWELL_LLM_URL": "https://a.example/v1", "STEPWELL_LLM_MODEL": "m"},
            "llm",
            "PROXY",
        ),
        ({"STEPWELL_LANGUAGE": "klingon"}, "settings", "language is unknown"),
    ],
)
def test_what_keeps_a_command_from_starting_is_a_finding_beside_the_others(environment, name, said) -> None:
    given = {"HTTPS_PROXY": "foo://proxy", "DATABASE_URL": "postgresql://stepwell_service@127.0.0.1:9/stepwell"}
    ran = CliRunner().invoke(app, ["doctor", "--json"], env=given | environment)
    findings = {finding["name"]: finding for finding in json.loads(ran.stdout)["findings"]}
    assert (ran.exit_code, findings[name]["level"], said in findings[name]["message"]) == (1, "error", True)
    assert {"settings", "database", "embedder"} <= findings.keys()
    assert not findings["database"]["message"].startswith("Not checked")


async def test_a_key_of_a_language_model_that_is_not_used_is_named_with_what_would_use_it() -> None:
    unused = {"embedder": "tei", "embedder_url": "http://127.0.0.1:9", "gemini_api_key": KEY}
    found = (await _findings(**unused))["llm"]
    assert (found.level, found.fix.split()[0]) == ("ok", "STEPWELL_LLM=gemini")
    assert found.message.startswith("GEMINI_API_KEY is set and no language model is used")
    assert Settings().unused_llm_key() is Settings(llm="gemini", gemini_api_key=KEY).unused_llm_key() is None
