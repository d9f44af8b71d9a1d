"""The attack runner reports results, failures and the comparison of two revisions."""

import os

import pytest

from benchmarks import folders
from benchmarks.attacks import attacks, network
from benchmarks.attacks.target import Target


@pytest.mark.skipif(os.environ.get("STEPWELL_FAULTS") != "full", reason="starts three services: make faults")
async def test_the_service_refuses_a_foreign_host_and_survives_half_sent_bodies() -> None:
    with folders.temporary() as folder:
        target = Target(folder / "data", attacks.ROOT)
        await target.prepare()
        assert await network.foreign_host(target) == "421"
        assert await network.half_sent_bodies(target) == "5 of 5 searches answered"
