"""Describes the schema of a database as `pg_dump` writes it: tables, functions, policies and privileges."""

import re
import subprocess
from typing import Any

from sqlalchemy.engine import make_url

from app.database.embedded import embedded_programs

_SESSION = re.compile(
    r"^(?:(?:--|\\(?:un)?restrict |SELECT pg_catalog\.set_config|ALTER TABLE .*\(pg_attver=).*|SET \w+ = [^;]*;)?\n",
    re.MULTILINE,
)
"""Comments, settings of the session, marks that a server keeps of columns, and empty lines."""


def dump(address: Any) -> str:
    """The schema without comments and settings of the session."""
    url = make_url(address.owner_dsn)
    program = str(embedded_programs.find_installed() / "pg_dump")
    reached = (f"--host={url.query['host']}", f"--username={url.username}", url.database or "")
    options = ("--schema-only", "--no-owner", "--schema=stepwell")
    dumped = subprocess.run([program, *options, *reached], check=True, capture_output=True, text=True).stdout
    return _SESSION.sub("", dumped)
