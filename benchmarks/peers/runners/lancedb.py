"""Runs LanceDB's hybrid search: exact vector search, its BM25 index with English stemming and stop words, RRF."""

from __future__ import annotations

from pathlib import Path

import lancedb
import pyarrow as pa
from lancedb.rerankers import RRFReranker

from benchmarks.peers import measure
from benchmarks.peers.exchange import Material, Order


class LanceDb:
    """A table in the order's folder.

    It has no vector index: LanceDB's documentation advises one from about 100,000 rows. A hybrid query gives each leg
    as many rows as the answer, so it asks for `candidates` and is cut to `limit`.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._table: lancedb.table.Table | None = None

    async def store(self, material: Material) -> None:
        """Creates the table and its full-text index."""
        dimension = material.chunk_vectors.shape[1]
        flat = pa.array(material.chunk_vectors.ravel())
        columns = {
            "id": pa.array(range(len(material.chunks)), pa.int64()),
            "text": pa.array(material.chunks),
            "vector": pa.FixedSizeListArray.from_arrays(flat, dimension),
        }
        self._table = lancedb.connect(self._order.files).create_table("chunks", pa.table(columns))
        self._table.create_fts_index("text")

    async def settle(self) -> None:
        """Merges fragments and indexes."""
        assert self._table is not None
        self._table.optimize()

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Runs a hybrid query reranked by RRF."""
        assert self._table is not None
        query = self._table.search(query_type="hybrid").vector(vector).text(question)
        found = query.distance_type("cosine").rerank(RRFReranker()).limit(self._order.candidates).to_arrow()
        first = found.slice(0, self._order.limit)
        assert first.column("text").to_pylist()
        return [int(number) for number in first.column("id").to_pylist()]

    async def size(self) -> int:
        """Returns the bytes of the folder."""
        return measure.folder_size(Path(self._order.files))


if __name__ == "__main__":
    measure.main(LanceDb, "lancedb")
