"""Defines the request and response models of multi-hop search and of merging lists of hits."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api import wire
from app.api.enums import Detail, Mode, Rerank
from app.api.search_models import SearchFilters, SearchHit, SearchResponse
from app.pipelines import merge_lists, multihop
from app.pipelines.merge_lists import MergeRequest
from app.shapes import Answer, Hit, Hop
from app.shapes import Query as QueryShape

MAX_ID_LENGTH = 200
MAX_LISTS, MAX_HITS = 20, 200


class MultihopRequest(wire.WireModel):
    """A search that follows names in the passages found to documents that share no words with the query."""

    query: wire.QueryText = Field(examples=["Who leads the team that looks after the Gannet buoys?"])
    limit: Annotated[wire.Int, Field(ge=1, le=20)] = Field(5, description="Maximum number of hits.")
    max_hops: Annotated[wire.Int, Field(ge=2, le=4)] = Field(2, description="Maximum number of retrieval rounds.")
    extractor: Literal["auto", "llm", "entities", "statistical"] = Field(
        "auto", description="How the terms of a further hop are extracted; `auto` uses the best method available."
    )
    merge: Literal["linked", "classic"] = Field(
        "linked",
        description="How hits of all hops are scored: by their links, or by RRF with a bonus for hop 1 (`classic`).",
    )
    mode: Mode = Field("auto", description="Legs to run.")
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Conditions on the documents searched, in every hop."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks to leave out of the results.")
    detail: Detail = Field(
        "full", description="How much of each passage is returned: its ids only, a preview, or the full text."
    )
    explain: wire.Flag = Field(False, description="Include the components of each score.")

    def shape(self, user_id: str, *, candidates: int, k: int) -> multihop.MultihopQuery:
        """The query as a core type."""
        query = QueryShape(
            user_id=user_id,
            text=self.query,
            limit=self.limit,
            mode=self.mode,
            k=k,
            candidates=candidates,
            filters=self.filters.shape(),
            exclude_chunk_ids=tuple(self.exclude_chunk_ids),
            detail=self.detail,
            explain=self.explain,
        )
        return multihop.MultihopQuery(query, self.max_hops, self.extractor, self.merge)


class HopLink(BaseModel):
    """The name by which a later hop reached a hit."""

    name: str = Field(description="The name, or the expanded terms.")
    kind: Literal["linked", "shared", "named", "expanded"] = Field(
        description="linked: the name is the title of the document or the heading of the section; shared: both chunks "
        "contain it; named: the query contains it; expanded: the expanded query found the hit."
    )
    source_chunk_id: UUID | None = Field(description="Id of the earlier chunk that contains the name.")
    chunks: int | None = Field(description="Number of chunks that contain the name.")
    steps: int | None = Field(description="Number of links from the query to the hit.")
    heading: bool = Field(False, description="Whether the name is a heading rather than the title of the document.")


class MultihopHit(SearchHit):
    """A passage and the hop that found it."""

    hop: int = Field(description="Number of the hop that found it, from 1.")
    combined_score: float = Field(description="Score over all hops, by which results are sorted.")
    via: HopLink | None = Field(description="How a later hop reached it; null for hop 1.")

    @classmethod
    def of(cls, hit: Hit) -> MultihopHit:
        """The response model of a hit."""
        via = None
        if hit.via is not None:
            via = HopLink(**{name: getattr(hit.via, name) for name in HopLink.model_fields})
        fields = SearchHit.of(hit).model_dump()
        return cls(**fields, hop=hit.hop or 1, combined_score=hit.combined_score or 0.0, via=via)


class HopSummary(BaseModel):
    """A retrieval round."""

    hop: int = Field(description="Number of the hop, from 1.")
    query: str = Field(description="Query of the hop.")
    result_count: int = Field(description="Number of chunks that no earlier hop had found.")
    expanded_terms: list[str] | None = Field(None, description="Terms extracted from the top chunks, from hop 2 on.")
    extractor: Literal["llm", "entities", "statistical"] | None = Field(
        None, description="Method that extracted the terms."
    )
    error: str | None = Field(None, description="Why the hop found nothing.")

    @classmethod
    def of(cls, hop: Hop) -> HopSummary:
        """The response model of a hop."""
        terms = list(hop.expanded_terms) if hop.hop > 1 else None
        return cls(
            hop=hop.hop,
            query=hop.query,
            result_count=hop.result_count,
            expanded_terms=terms,
            extractor=hop.extractor,
            error=hop.error,
        )


class MultihopResponse(SearchResponse):
    """The response of a multi-hop search: the hits of all hops in one order, and a summary of each hop."""

    results: list[MultihopHit] = Field(description="Hits, best first.")  # type: ignore[assignment]
    hops: list[HopSummary] = Field(description="The retrieval rounds.")
    total_results: int = Field(description="Number of chunks found by all hops, before the cut to `limit`.")

    @classmethod
    def of(cls, answer: Answer) -> MultihopResponse:
        """The response model of an answer."""
        fields = SearchResponse.of(answer).model_dump(exclude={"results"})
        return cls(
            **fields,
            results=[MultihopHit.of(hit) for hit in answer.hits],
            hops=[HopSummary.of(hop) for hop in answer.hops or ()],
            total_results=answer.total_results or 0,
        )


HitId = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH)]


class RankedListHit(BaseModel):
    """A hit of any search. Only its id is required; other fields are returned unchanged."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    chunk_id: HitId = Field(description="Id by which equal hits of several lists are recognised.")
    document_id: HitId | None = Field(None, description="Id of the hit's document; `classic` counts hits by it.")
    content: Annotated[str, Field(max_length=100_000)] = Field(
        "", description="Text for the reranker, if the chunk is not stored here."
    )


class RankedList(wire.WireModel):
    """A list of hits, best first."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = Field(description="Name of the list, unique.")
    weight: Annotated[wire.Number, Field(ge=0, le=100)] = Field(1.0, description="Weight of the list in the fusion.")
    hop: Annotated[wire.Int, Field(ge=1, le=9)] | None = Field(
        None, description="Hop that returned the list; with `classic` the default is its position in `lists`."
    )
    hits: Annotated[list[RankedListHit], *wire.at_most(MAX_HITS)] = Field(description="Hits, best first.")

    def shape(self) -> merge_lists.HitList:
        """The list as a core type."""
        hits = [
            merge_lists.InputHit(
                hit_id=hit.chunk_id, document_id=hit.document_id, content=hit.content, payload=hit.model_dump()
            )
            for hit in self.hits
        ]
        return merge_lists.HitList(self.name, hits, self.weight, self.hop)


class RerankRequest(wire.WireModel):
    """Lists of hits to merge into one."""

    query: wire.QueryText | None = Field(
        None, description="Query that the hits are reranked against; required for reranking."
    )
    lists: Annotated[list[RankedList], *wire.at_most(MAX_LISTS, at_least=1)] = Field(description="Lists to merge.")
    k: Annotated[wire.Int, Field(ge=1, le=1000)] = Field(60, description="Rank constant of reciprocal rank fusion.")
    merge: Literal["rrf", "classic"] = Field(
        "rrf", description="classic adds a bonus for hits of hop 1 and for documents with a single hit."
    )
    rerank: Rerank = Field(
        "none",
        description="Rescore the top hits: stored chunks by cosine similarity to the query, or all hits with a text "
        "by the configured reranker.",
    )
    mmr: wire.Flag = Field(
        False,
        description="Diversify the results by maximal marginal relevance, by vectors of stored chunks or by words.",
    )
    limit: Annotated[wire.Int, Field(ge=1, le=200)] = Field(10, description="Maximum number of hits.")

    def shape(self, user_id: str) -> MergeRequest:
        """The request as a core type."""
        return MergeRequest(
            user_id=user_id,
            lists=[ranked.shape() for ranked in self.lists],
            limit=self.limit,
            k=self.k,
            method=self.merge,
            query=self.query,
            rerank=self.rerank,
            mmr=self.mmr,
        )


class MergedHit(BaseModel):
    """A hit of the merged list."""

    chunk_id: str = Field(description="Id of the hit.")
    score: float = Field(
        description="`combined_score` divided by the maximum that these lists allow, 0 to 1; after reranking its score."
    )
    combined_score: float = Field(description="Score of the fusion.")
    hop: int = Field(description="Earliest hop of the lists that contain the hit.")
    ranks: dict[str, int] = Field(description="Rank in each list that contains the hit, from 1.")
    parts: dict[str, float] = Field(description="Summands of `combined_score`.")
    explain: dict[str, Any] = Field(description="Scores of reranking and MMR, and the rank before each.")
    hit: dict[str, Any] = Field(description="The hit as sent, from the first list that contains it.")

    @classmethod
    def of(cls, merged: merge_lists.RankedHit) -> MergedHit:
        """The response model of a merged hit."""
        fields = {name: getattr(merged, name) for name in ("score", "combined_score", "hop")}
        return cls(
            chunk_id=merged.hit.hit_id,
            ranks=dict(merged.ranks),
            parts=dict(merged.parts),
            explain=dict(merged.explain),
            hit=dict(merged.hit.payload),
            **fields,
        )


class RerankResponse(BaseModel):
    """The merged list."""

    results: list[MergedHit] = Field(description="Hits, best first.")
    merge: Literal["rrf", "classic"] = Field(description="Method by which the lists were merged.")
    total_results: int = Field(description="Number of different hits in all lists.")
    degraded: list[str] = Field(description="Codes of what failed and was left out, such as `reranker_failed`.")

    @classmethod
    def of(cls, merged: merge_lists.MergeResult, method: merge_lists.Method) -> RerankResponse:
        """The response model of a merged list."""
        return cls(
            results=[MergedHit.of(hit) for hit in merged.hits],
            merge=method,
            total_results=merged.total,
            degraded=list(merged.degraded),
        )
