"""Defines the request and response models of multi-hop search."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType

from app.api.contract import wire
from app.api.contract.enums import Extractor, Hierarchy, HopMerge, Mode, Rerank
from app.api.contract.filter_models import SearchFilters
from app.api.contract.responses import NoneIfEmpty, is_none
from app.api.search import search_models
from app.api.search.hit_models import MORE, HopLink, SearchHit
from app.api.search.search_models import (
    MMR,
    MMR_LAMBDA,
    RECENCY,
    RERANK,
    RERANK_WEIGHT,
    SNIPPETS,
    AnswerOptions,
    Explain,
    RecencyChoice,
    Share,
    Snippets,
)
from app.api.search.search_responses import CompactSearchResponse, HopSummary, IdsSearchResponse, SearchResponse
from app.pipelines.multihop import multihop
from app.shapes import Guidance, Reordering, limits
from app.shapes import Query as QueryShape


class MultihopRequest(AnswerOptions):
    """A search that follows names in the passages found to documents that share no words with the query."""

    query: wire.QueryText = Field(examples=["Who leads the team that looks after the Gannet buoys?"])
    limit: Annotated[wire.Int, Field(ge=1, le=limits.MAX_MULTIHOP_HITS)] = Field(
        5, description="Maximum number of hits."
    )
    max_hops: Annotated[wire.Int, Field(ge=limits.MIN_HOPS, le=limits.MAX_HOPS)] = Field(
        2, description="Maximum number of retrieval rounds."
    )
    extractor: Extractor = Field(
        "auto",
        description="How the terms of a further hop are extracted; `auto` uses the best method available, and with "
        "`none` a hop follows links without searching again, in about half of the extra time.",
    )
    merge: HopMerge = Field(
        "linked",
        description="How hits of all hops are scored: by their links, or by RRF with a bonus for hop 1 (`classic`).",
    )
    mode: Mode = Field("auto", description="Legs to run.")
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Conditions on the documents searched, in every hop."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks to leave out of the results.")
    explain: Explain = Field(False, description="Include the components of each score; not with `compact` and `ids`.")
    snippets: Snippets = Field(False, description=SNIPPETS)
    hierarchy: Hierarchy = Field("off", description="Use of recognised entities in hop 1, as in a search.")
    rerank: Rerank = Field("none", description=RERANK)
    rerank_weight: Share | None = Field(None, description=RERANK_WEIGHT)
    mmr: wire.Flag = Field(False, description=MMR)
    mmr_lambda: Share | None = Field(None, description=MMR_LAMBDA)
    recency: RecencyChoice | None = Field(None, description=RECENCY)

    def shape(
        self, user_id: str, *, candidates: int, k: int, guidance: Guidance, reordering: Reordering
    ) -> multihop.MultihopQuery:
        """The query as a core type; all arguments but `user_id` are the service's defaults."""
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
            snippets=self.snippets,
            cursor=self.cursor,
            group_size=self.more,
            collapse=self.is_collapsed,
            rerank=self.rerank,
            mmr=self.mmr,
            reordering=search_models.reordering_of(self, reordering),
            recency=search_models.recency_of(self.recency),
            guidance=guidance.off if self.hierarchy == "off" else replace(guidance, mode=self.hierarchy),
        )
        return multihop.MultihopQuery(query, self.max_hops, self.extractor, self.merge)


class MultihopHit(SearchHit):
    """A passage and the hop that found it."""

    hop: int = Field(description="Number of the hop that found it, from 1.")
    combined_score: float = Field(
        description="Score over all hops, by which results are sorted before `rerank` and `mmr`."
    )
    via: HopLink | None = Field(None, description="How a later hop reached it; null for hop 1.")
    more: Annotated[list[MultihopHit] | None, NoneIfEmpty] = Field(  # type: ignore[assignment]
        None, description=MORE, exclude_if=is_none
    )


class MultihopResponse(SearchResponse):
    """The response of a multi-hop search: the hits of all hops in one order, and a summary of each hop."""

    results: list[MultihopHit] = Field(  # type: ignore[assignment]
        validation_alias="hits", description="Hits, best first."
    )
    hops: list[HopSummary] = Field(description="The retrieval rounds.")
    total_results: int = Field(description="Number of chunks found by all hops, before the cut to `limit`.")


MultihopAnswer = TypeAliasType(
    "MultihopAnswer",
    Annotated[
        MultihopResponse | CompactSearchResponse | IdsSearchResponse,
        Field(
            discriminator="detail",
            description="The response of a multi-hop search, in the shape that `detail` selects.",
        ),
    ],
)
