"""Runs Qdrant in a local folder: dense vectors and FastEmbed's BM25 as sparse vectors with idf, fused by RRF.

The local mode of the client is written in Python for development; it is not the speed of a Qdrant server.
"""

from __future__ import annotations

from pathlib import Path

from fastembed import SparseTextEmbedding
from qdrant_client import QdrantClient, models

from benchmarks.peers import measure
from benchmarks.peers.exchange import Material, Order

COLLECTION, DENSE, SPARSE = "chunks", "dense", "bm25"


class Qdrant:
    """A local collection. The stop words are those of Postgres, since FastEmbed downloads its own."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._client = QdrantClient(path=order.files)
        self._bm25 = self._model(256.0)

    def _model(self, average_length: float) -> SparseTextEmbedding:
        """Returns the BM25 encoder; it reads no files, so any existing folder serves as its model's."""
        return SparseTextEmbedding(
            "Qdrant/bm25",
            specific_model_path=self._order.material,
            stopwords=set(self._order.stop_words),
            avg_len=average_length,
        )

    async def store(self, material: Material) -> None:
        """Encodes the chunks by BM25 with their average length and stores both vectors."""
        self._bm25 = self._model(self._bm25.token_count(material.chunks) / len(material.chunks))
        self._client.create_collection(
            COLLECTION,
            vectors_config={
                DENSE: models.VectorParams(size=material.chunk_vectors.shape[1], distance=models.Distance.COSINE)
            },
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        sparse = self._bm25.embed(material.chunks)
        rows = zip(material.chunks, material.chunk_vectors.tolist(), sparse, strict=True)
        self._client.upload_points(
            COLLECTION,
            (
                models.PointStruct(
                    id=number,
                    payload={"text": text},
                    vector={DENSE: vector, SPARSE: models.SparseVector(**words.as_object())},
                )
                for number, (text, vector, words) in enumerate(rows)
            ),
            wait=True,
        )

    async def settle(self) -> None:
        """Has nothing to do."""

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Queries both vectors and fuses them."""
        words = next(iter(self._bm25.query_embed(question)))
        found = self._client.query_points(
            COLLECTION,
            prefetch=[
                models.Prefetch(query=vector, using=DENSE, limit=self._order.candidates),
                models.Prefetch(
                    query=models.SparseVector(**words.as_object()), using=SPARSE, limit=self._order.candidates
                ),
            ],
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            limit=self._order.limit,
            with_payload=True,
        )
        return [int(point.id) for point in found.points]

    async def size(self) -> int:
        """Returns the bytes of the folder."""
        return measure.folder_size(Path(self._order.files))


if __name__ == "__main__":
    measure.main(Qdrant, "qdrant-client", "fastembed")
