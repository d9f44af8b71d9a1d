"""Lists the peers with their packages and the configuration in which each is measured."""

from __future__ import annotations

from dataclasses import dataclass

POSTGRES_SQL = "postgres_sql"


@dataclass(frozen=True, slots=True)
class PeerSpec:
    """A row of the comparison: its name, the runner's module and variant, and what the runner installs.

    Without packages the runner uses the interpreter of this process. `note` says which configuration is measured.
    """

    key: str
    name: str
    runner: str
    note: str
    variant: str = ""
    packages: tuple[str, ...] = ()


LANGCHAIN = ("langchain-postgres",)
LLAMAINDEX = ("llama-index-vector-stores-postgres",)

PEERS = (
    PeerSpec("vector", "pgvector, vectors only", POSTGRES_SQL, "HNSW by cosine distance, no words", "vector"),
    PeerSpec(
        "ts_rank", "Postgres: ts_rank and pgvector", POSTGRES_SQL, "any word by ts_rank, HNSW, RRF k = 60", "ts_rank"
    ),
    PeerSpec(
        "pgvector", "pgvector's hybrid example", POSTGRES_SQL, "all words by ts_rank_cd, HNSW, RRF k = 60", "pgvector"
    ),
    PeerSpec(
        "supabase",
        "Supabase's hybrid_search",
        POSTGRES_SQL,
        "all words by ts_rank_cd, inner product, RRF k = 50, legs of twice the limit",
        "supabase",
    ),
    PeerSpec(
        "r2r",
        "R2R's hybrid query",
        POSTGRES_SQL,
        "all words by ts_rank, HNSW, RRF k = 50 with weights 1 and 5 in Python; its GIN index on the column it reads",
        "r2r",
    ),
    PeerSpec(
        "langchain",
        "LangChain PGVectorStore",
        "langchain",
        "hybrid search with a tsvector column, GIN, HNSW and RRF",
        packages=LANGCHAIN,
    ),
    PeerSpec(
        "llamaindex",
        "LlamaIndex PGVectorStore, hybrid mode",
        "llamaindex",
        "any word by ts_rank after the vector leg's hits",
        "mode",
        LLAMAINDEX,
    ),
    PeerSpec(
        "llamaindex-fusion",
        "LlamaIndex PGVectorStore, fusion retriever",
        "llamaindex",
        "both legs fused by relative score, as its documentation advises",
        "fusion",
        LLAMAINDEX,
    ),
    PeerSpec(
        "lancedb",
        "LanceDB hybrid",
        "lancedb",
        "BM25 index, exact vectors, RRF",
        packages=("lancedb", "pyarrow"),
    ),
    PeerSpec(
        "chroma",
        "Chroma, vectors only",
        "chroma",
        "HNSW; its local mode has no hybrid search",
        packages=("chromadb",),
    ),
    PeerSpec(
        "qdrant",
        "Qdrant, the client's local mode",
        "qdrant",
        "FastEmbed's BM25 as sparse vectors with idf, exact vectors, RRF; a development mode written in Python",
        packages=("qdrant-client", "fastembed"),
    ),
)
