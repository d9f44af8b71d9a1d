"""The attack runner reports results, failures and the comparison of two revisions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app import errors
from benchmarks import folders
from benchmarks.attacks import attacks, network
from benchmarks.attacks.target import Target


def test_the_table_has_a_row_for_each_attack_with_both_revisions() -> None:
    table = attacks.markdown({"host": "200"}, {"host": "421", "keys": "nothing"}).splitlines()
    assert table[2:] == [
        "| `Host: evil.example`, AUTH=none | 200 | 421 |",
        "| the service's role on the table of API keys | n/a | nothing |",
    ]


def test_an_unknown_revision_is_rejected() -> None:
    with pytest.raises(errors.BadRequest, match="revision"), attacks.worktree("no-such-revision"):
        pass


async def test_a_failing_attack_is_a_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def fails(_target: Target) -> str:
        raise OSError("no socket")

    assert await attacks._result(fails, Target(tmp_path, tmp_path)) == "n/a (OSError: no socket)"


@pytest.mark.skipif(os.environ.get("STEPWELL_FAULTS") != "full", reason="starts three services: make faults")
async def test_the_service_refuses_a_foreign_host_and_survives_half_sent_bodies() -> None:
    with folders.temporary() as folder:
        target = Target(folder / "data", attacks.ROOT)
        await target.prepare()
        assert await network.foreign_host(target) == "421"
        assert await network.half_sent_bodies(target) == "5 of 5 searches answered"
