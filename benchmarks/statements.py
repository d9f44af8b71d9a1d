"""Records the statements that a database runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import sqlalchemy as sa

from app.database import pooled_connection
from app.database.pooled_connection import Connection
from app.database.transactions import Database


@contextmanager
def recorded(database: Database, record: Callable[[str, Any], None]) -> Iterator[None]:
    """Passes each statement of a block to `record` as the driver reads it, with its values."""
    engine, execute = database.pool.engine, Connection.execute

    async def recording(self: Connection, statement: sa.Executable, binds: Any = None) -> Any:
        if self.engine is engine and self.runs_on_driver(statement, binds):
            text, names = pooled_connection.compile_text(statement, engine.dialect)
            record(text, [binds[name] for name in names])
        return await execute(self, statement, binds)

    def through_sqlalchemy(_connection: Any, _cursor: Any, text: str, parameters: Any, *_rest: Any) -> None:
        record(text, parameters)

    sa.event.listen(engine.sync_engine, "before_cursor_execute", through_sqlalchemy)
    try:
        with mock.patch.object(Connection, "execute", recording):
            yield
    finally:
        sa.event.remove(engine.sync_engine, "before_cursor_execute", through_sqlalchemy)
