"""What do a multi-hop search and a merge take and answer on the wire?"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api import wire
from app.api.search_models import SearchFilters, SearchHit, SearchResponse
from app.pipelines import merge_lists, multihop
from app.pipelines.merge_lists import MergeRequest
from app.shapes import Answer, Detail, Hit, Hop, Mode, Rerank
from app.shapes import Query as QueryShape

LONGEST_ID = 200
MOST_LISTS, MOST_HITS = 20, 200


class MultihopRequest(wire.WireModel):
    """A question whose answer may lie in documents that share no words with it."""

    query: wire.QueryText = Field(examples=["Who leads the team that looks after the Gannet buoys?"])
    limit: Annotated[wire.Int, Field(ge=1, le=20)] = Field(5, description="Hits wanted.")
    max_hops: Annotated[wire.Int, Field(ge=2, le=4)] = Field(2, description="Retrieval rounds at most.")
    extractor: Literal["auto", "llm", "entities", "statistical"] = Field(
        "auto", description="Who names the terms of a further hop; `auto` takes the best available."
    )
    merge: Literal["linked", "classic"] = Field("linked", description="How the chunks of the hops are ordered.")
    mode: Mode = Field("auto", description="Which legs run.")
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Which documents may answer, in every hop."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks that must not come back.")
    detail: Detail = Field("full", description="How much text a hit carries.")
    explain: wire.Flag = Field(False, description="Show the parts of each score.")

    def shape(self, user_id: str, *, candidates: int, k: int) -> multihop.MultihopQuery:
        """The question as the corridor takes it."""
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
    """The name that led to a hit."""

    name: str
    kind: Literal["linked", "shared", "named", "expanded"] = Field(
        description="linked: it is the title of the document or the heading of the section; shared: both chunks hold "
        "it; named: the question holds it; expanded: the widened query found it."
    )
    source_chunk_id: UUID | None = Field(description="The chunk in which the name stands.")
    chunks: int | None = Field(description="How many chunks hold the name.")
    steps: int | None = Field(description="How many links lead there.")
    heading: bool = Field(False, description="Whether the name is a heading, and not the title of the document.")


class MultihopHit(SearchHit):
    """One passage, with the hop that brought it."""

    hop: int
    combined_score: float
    via: HopLink | None = Field(description="How a later hop came to it; null for hop 1.")

    @classmethod
    def of(cls, hit: Hit) -> MultihopHit:
        """A hit as the wire shows it."""
        via = None
        if hit.via is not None:
            via = HopLink(**{name: getattr(hit.via, name) for name in HopLink.model_fields})
        told = SearchHit.of(hit).model_dump()
        return cls(**told, hop=hit.hop or 1, combined_score=hit.combined_score or 0.0, via=via)


class HopSummary(BaseModel):
    """One retrieval round."""

    hop: int
    query: str
    result_count: int = Field(description="Chunks that were new to this hop.")
    expanded_terms: list[str] | None = Field(None, description="What was read off the best chunks; from hop 2 on.")
    extractor: Literal["llm", "entities", "statistical"] | None = Field(None, description="Who read it.")
    error: str | None = Field(None, description="Why the hop brought nothing.")

    @classmethod
    def of(cls, hop: Hop) -> HopSummary:
        """A hop as the wire shows it."""
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
    """What a multi-hop search answers: the hits of all hops in one order, and how each hop went."""

    results: list[MultihopHit]  # type: ignore[assignment]
    hops: list[HopSummary]
    total_results: int = Field(description="Chunks of all hops, before the cut to `limit`.")

    @classmethod
    def of(cls, answer: Answer) -> MultihopResponse:
        """An answer as the wire shows it."""
        told = SearchResponse.of(answer).model_dump(exclude={"results"})
        return cls(
            **told,
            results=[MultihopHit.of(hit) for hit in answer.hits],
            hops=[HopSummary.of(hop) for hop in answer.hops or ()],
            total_results=answer.total_results or 0,
        )


HitId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]


class RankedListHit(BaseModel):
    """A hit of any search: only its id is needed. What else it carries comes back as it was."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    chunk_id: HitId
    document_id: HitId | None = None
    content: Annotated[str, Field(max_length=100_000)] = ""


class RankedList(wire.WireModel):
    """A list of hits, best first."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    weight: Annotated[wire.Number, Field(ge=0, le=100)] = 1.0
    hop: Annotated[wire.Int, Field(ge=1, le=9)] | None = Field(
        None, description="The hop that it comes from; under `classic` the default is its place among the lists."
    )
    hits: Annotated[list[RankedListHit], *wire.at_most(MOST_HITS)]

    def shape(self) -> merge_lists.HitList:
        """The list as the corridor takes it."""
        hits = [
            merge_lists.InputHit(
                hit_id=hit.chunk_id, document_id=hit.document_id, content=hit.content, payload=hit.model_dump()
            )
            for hit in self.hits
        ]
        return merge_lists.HitList(self.name, hits, self.weight, self.hop)


class RerankRequest(wire.WireModel):
    """Lists of hits to be merged into one."""

    query: wire.QueryText | None = Field(None, description="What the hits are to answer; re-ranking needs it.")
    lists: Annotated[list[RankedList], *wire.at_most(MOST_LISTS, at_least=1)]
    k: Annotated[wire.Int, Field(ge=1, le=1000)] = Field(60, description="The constant of RRF.")
    merge: Literal["rrf", "classic"] = Field("rrf", description="classic: earlier hops and single documents first.")
    rerank: Rerank = Field(
        "none",
        description="Score the best again: stored chunks by their cosine to the query, or all that hold or bring text "
        "by the service's re-ranker.",
    )
    mmr: wire.Flag = Field(
        False, description="Prefer hits that say something new: by vectors of stored chunks, else by words."
    )
    limit: Annotated[wire.Int, Field(ge=1, le=200)] = Field(10, description="Hits wanted.")

    def shape(self, user_id: str) -> MergeRequest:
        """The lists as the corridor takes them."""
        return MergeRequest(
            user_id=user_id,
            lists=[given.shape() for given in self.lists],
            limit=self.limit,
            k=self.k,
            method=self.merge,
            query=self.query,
            rerank=self.rerank,
            mmr=self.mmr,
        )


class MergedHit(BaseModel):
    """A hit's place among all lists."""

    chunk_id: str
    score: float = Field(
        description="`combined_score` as a share of the best that these lists allow, 0 to 1; re-ranked, the new score."
    )
    combined_score: float
    hop: int
    ranks: dict[str, int] = Field(description="Its rank in each list that holds it.")
    parts: dict[str, float] = Field(description="What adds up to `combined_score`.")
    explain: dict[str, Any] = Field(description="What re-ranking and MMR made of it, and where it stood before each.")
    hit: dict[str, Any] = Field(description="The hit as it was sent, from the first list that holds it.")

    @classmethod
    def of(cls, merged: merge_lists.RankedHit) -> MergedHit:
        """A merged hit as the wire shows it."""
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

    results: list[MergedHit]
    merge: Literal["rrf", "classic"]
    total_results: int = Field(description="Different hits in all lists.")
    degraded: list[str] = Field(description="What could not be used, such as `reranker_failed`.")

    @classmethod
    def of(cls, merged: merge_lists.MergeResult, method: merge_lists.Method) -> RerankResponse:
        """The model of a merged list."""
        return cls(
            results=[MergedHit.of(hit) for hit in merged.hits],
            merge=method,
            total_results=merged.total,
            degraded=list(merged.degraded),
        )
