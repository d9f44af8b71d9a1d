"""Runs LlamaIndex's PGVectorStore: its query mode `hybrid`, or the fusion retriever that its documentation advises."""

from __future__ import annotations

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.vector_stores.postgres import PGVectorStore

from benchmarks.peers import measure, postgres
from benchmarks.peers.exchange import Material, Order


class LlamaIndex:
    """A PGVectorStore with an HNSW and a GIN index.

    The variant `mode` is the query mode `hybrid`: the vector leg's hits followed by the text leg's. `fusion` is a
    QueryFusionRetriever over both legs with relative scores and one query, as in the documentation of the store.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._retriever: BaseRetriever | None = None

    async def store(self, material: Material) -> None:
        """Creates the table and its indexes and adds the chunks with their vectors."""
        dimension = material.chunk_vectors.shape[1]
        store = PGVectorStore(
            connection_string=self._order.dsn.replace("postgresql://", "postgresql+psycopg2://"),
            async_connection_string=self._order.dsn.replace("postgresql://", "postgresql+asyncpg://"),
            table_name="chunks",
            schema_name="public",
            hybrid_search=True,
            text_search_config="english",
            embed_dim=dimension,
            hnsw_kwargs={
                "hnsw_m": 16,
                "hnsw_ef_construction": 64,
                "hnsw_ef_search": self._order.candidates,
                "hnsw_dist_method": "vector_cosine_ops",
            },
        )
        vectors = material.chunk_vectors.tolist()
        store.add(
            [
                TextNode(id_=str(number), text=text, embedding=vector)
                for number, (text, vector) in enumerate(zip(material.chunks, vectors, strict=True))
            ]
        )
        index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(embed_dim=dimension))
        self._retriever = self._hybrid(index) if self._order.variant == "mode" else self._fusion(index)

    def _hybrid(self, index: VectorStoreIndex) -> BaseRetriever:
        top_k = self._order.limit
        return index.as_retriever(vector_store_query_mode="hybrid", similarity_top_k=top_k, sparse_top_k=top_k)

    def _fusion(self, index: VectorStoreIndex) -> BaseRetriever:
        legs = [
            index.as_retriever(vector_store_query_mode=mode, similarity_top_k=self._order.candidates)
            for mode in ("default", "sparse")
        ]
        return QueryFusionRetriever(
            legs,
            llm=MockLLM(),
            similarity_top_k=self._order.limit,
            num_queries=1,
            mode="relative_score",
            use_async=False,
        )

    async def settle(self) -> None:
        """Vacuums and analyses the table."""
        await postgres.settle(self._order.dsn)

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Retrieves with the given vector; the mode `hybrid` returns both legs, cut to the limit."""
        assert self._retriever is not None
        found = self._retriever.retrieve(QueryBundle(question, embedding=vector))
        return [int(hit.node.node_id) for hit in found][: self._order.limit]

    async def size(self) -> int:
        """Returns the bytes of the table and its indexes."""
        return await postgres.size(self._order.dsn)


if __name__ == "__main__":
    measure.main(LlamaIndex, "llama-index-vector-stores-postgres", "llama-index-core")
