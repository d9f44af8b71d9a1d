"""Runs LangChain's PGVectorStore with hybrid search: a tsvector column, a GIN and an HNSW index, fusion by RRF."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions

from benchmarks.peers import measure, postgres
from benchmarks.peers.exchange import Material, Order

TABLE = "chunks"


class KnownVectors(Embeddings):  # type: ignore[misc]
    """Returns the given vectors of questions."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed_query(self, text: str) -> list[float]:
        """Returns the vector of a question."""
        return self._vectors[text]

    async def aembed_query(self, text: str) -> list[float]:
        """Returns the vector of a question."""
        return self._vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Is not called: chunks are stored with their vectors."""
        raise NotImplementedError


class LangChain:
    """A PGVectorStore. Each question gets a configuration of its own, because the store keeps the first one's words."""

    def __init__(self, order: Order) -> None:
        self._order = order
        material = Material.load(Path(order.material))
        vectors = dict(zip(material.questions, material.question_vectors.tolist(), strict=True))
        self._embeddings = KnownVectors(vectors)
        self._store: PGVectorStore | None = None

    def _hybrid(self) -> HybridSearchConfig:
        return HybridSearchConfig(
            tsv_column="content_tsv",
            fusion_function=reciprocal_rank_fusion,
            primary_top_k=self._order.candidates,
            secondary_top_k=self._order.candidates,
        )

    async def store(self, material: Material) -> None:
        """Adds the chunks with their vectors, then creates both indexes."""
        engine = PGEngine.from_connection_string(self._order.dsn.replace("postgresql://", "postgresql+asyncpg://"))
        dimension = material.chunk_vectors.shape[1]
        await engine.ainit_vectorstore_table(TABLE, dimension, hybrid_search_config=self._hybrid())
        self._store = await PGVectorStore.create(
            engine,
            self._embeddings,
            TABLE,
            hybrid_search_config=self._hybrid(),
            index_query_options=HNSWQueryOptions(ef_search=self._order.candidates),
        )
        ids = [str(UUID(int=number)) for number in range(len(material.chunks))]
        await self._store.aadd_embeddings(material.chunks, material.chunk_vectors.tolist(), ids=ids)
        await self._store.aapply_vector_index(HNSWIndex())
        await self._store.aapply_hybrid_search_index()

    async def settle(self) -> None:
        """Vacuums and analyses the table."""
        await postgres.settle(self._order.dsn)

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Runs a similarity search with the hybrid configuration."""
        assert self._store is not None
        found = await self._store.asimilarity_search(question, k=self._order.limit, hybrid_search_config=self._hybrid())
        return [UUID(document.id).int for document in found]

    async def size(self) -> int:
        """Returns the bytes of the table and its indexes."""
        return await postgres.size(self._order.dsn)


if __name__ == "__main__":
    measure.main(LangChain, "langchain-postgres", "langchain-core")
