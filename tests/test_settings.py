"""Settings are read from variables, in any spelling, and from files; a wrong or an unknown one is named."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from app import errors
from app import settings as config
from app.settings import Settings

Stepwell = Callable[..., Any]


def test_an_empty_variable_is_unset(monkeypatch):
    for variable, _, _ in Settings().described():
        monkeypatch.setenv(variable, "")
    assert Settings() == Settings.model_validate({})


def test_an_unknown_variable_is_reported_with_the_nearest_setting(stepwell, monkeypatch) -> None:
    monkeypatch.setenv("STEPWELL_CHUNK_TOKEN", "50")
    ran = stepwell("db", "check")
    assert ran.code == 0
    assert "STEPWELL_CHUNK_TOKEN is no setting and is ignored. Did you mean STEPWELL_CHUNK_TOKENS?" in ran.err
    assert "Warning" not in ran.out


def test_a_setting_is_read_from_the_file_that_a_variable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "database-url"
    secret.write_text("postgresql://stepwell_service:hunter2@127.0.0.1:9/db\n")
    monkeypatch.setenv("DATABASE_URL_FILE", str(secret))
    monkeypatch.setenv("STEPWELL_MIGRATION_URL_FILE", "")
    assert config.plain(config.load().database_url) == secret.read_text().strip()
    assert config.load().migration_url is None
    monkeypatch.setenv("DATABASE_URL_FILE", f"{secret}s")
    with pytest.raises(errors.BadRequest) as refused:
        config.load()
    assert refused.value.field == "DATABASE_URL_FILE"


def test_settings_by_any_spelling_and_the_variables_of_compose_are_known() -> None:
    known = ("STEPWELL_PORT", "stepwell_port", "STEPWELL_DATABASE_URL", "STEPWELL_AUTH", "STEPWELL_OWNER_PASSWORD")
    assert config.unknown_variables(dict.fromkeys((*known, "STEPWELL_LLM_API_KEY_FILE"), "1")) == []
    assert config.unknown_variables({"PATH": "", "STEPWELL_QQQQ": "1"}) == [
        "STEPWELL_QQQQ is no setting and is ignored."
    ]


def test_a_bad_setting_is_named(stepwell: Stepwell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_POOL_SIZE", "many")
    ran = stepwell("search", "lime")
    assert ran.code == 2
    assert "POOL_SIZE" in ran.err
    assert "many" not in ran.err.replace("how many", "")


@pytest.mark.parametrize("role", ["embedder", "reranker"])
def test_the_page_about_models_has_a_row_for_each_kind(role: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
    table = page.partition(f"| `STEPWELL_{role.upper()}` |")[2].partition("\n\n")[0]
    kinds = get_args(Settings.model_fields[role].annotation)
    first_cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert sorted(re.findall(r"`(\w+)`", "".join(first_cells))) == sorted(kinds)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "10000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu.max": "12800000 100000\n"}, 64),
        ({"cpu.cfs_quota_us": "300000\n", "cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, 64),
        ({}, 64),
    ],
)
def test_the_quota_of_a_container_limits_the_cores_that_searches_and_models_use(monkeypatch, tmp_path, quota, cores):
    for name, text in quota.items():
        (tmp_path / name).write_text(text)
    files = tuple(tuple(tmp_path / file.name for file in one) for one in config.CPU_QUOTAS)
    monkeypatch.setattr(config, "CPU_QUOTAS", files)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
    found = Settings()
    assert (config.usable_cores(), found.searches_at_once) == (cores, cores + 1)
    assert found.model_threads == min(cores, config.MAX_MODEL_THREADS)
