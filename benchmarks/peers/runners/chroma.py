"""Runs Chroma in a local folder, by vectors only: its hybrid search exists in its hosted service alone."""

from __future__ import annotations

from pathlib import Path

import chromadb
from chromadb.config import Settings

from benchmarks.peers import measure
from benchmarks.peers.exchange import Material, Order


class Chroma:
    """A persistent collection with an HNSW index by cosine distance."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._collection: chromadb.Collection | None = None

    async def store(self, material: Material) -> None:
        """Adds the chunks with their vectors, in the largest batches that the client takes."""
        client = chromadb.PersistentClient(self._order.files, Settings(anonymized_telemetry=False))
        hnsw = {"space": "cosine", "ef_search": self._order.candidates}
        self._collection = client.create_collection("chunks", configuration={"hnsw": hnsw}, embedding_function=None)
        largest = client.get_max_batch_size()
        for start in range(0, len(material.chunks), largest):
            end = min(start + largest, len(material.chunks))
            self._collection.add(
                ids=[str(number) for number in range(start, end)],
                documents=material.chunks[start:end],
                embeddings=material.chunk_vectors[start:end],
            )

    async def settle(self) -> None:
        """Has nothing to do."""

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Queries by the vector."""
        assert self._collection is not None
        found = self._collection.query(query_embeddings=[vector], n_results=self._order.limit, include=["documents"])
        return [int(number) for number in found["ids"][0]]

    async def size(self) -> int:
        """Returns the bytes of the folder."""
        return measure.folder_size(Path(self._order.files))


if __name__ == "__main__":
    measure.main(Chroma, "chromadb")
