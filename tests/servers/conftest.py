"""Starts the servers of Debian's packages that the tests of this folder share."""

from collections.abc import Iterator

import debian_servers
import pytest
from test_supported_servers import MAJOR


@pytest.fixture(scope="session")
def debian() -> Iterator[debian_servers.Server]:
    programs = debian_servers.programs(MAJOR)
    if programs is None:
        pytest.skip(f"needs Debian's package postgresql-{MAJOR}, and pgvector built for it")
    with debian_servers.postgres(programs) as started:
        yield started
