"""Defines the request models of search."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, Self
from uuid import UUID

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from app.api.contract import wire
from app.api.contract.enums import Collapse, Confidence, Depth, Detail, Fusion, GroupBy, Hierarchy, Mode, Rerank
from app.api.contract.filter_models import SearchFilters
from app.pipelines.entities.entity_search import EntityQuery
from app.shapes import Guidance, Reordering, limits
from app.shapes import Query as QueryShape
from app.shapes import Recency as RecencyShape
from app.shapes import Weights as WeightShape

GROUP_SIZE = 3
MAX_CURSOR = 64
MIN_HALF_LIFE, MAX_HALF_LIFE = 0.01, 36_500
MAX_DATE_FIELD = 200
CREATED_AT = "created_at"


def _to_a_millionth(weight: float) -> float:
    return round(weight, 6)


# Rounded, because Postgres raises an error on a product too small for a float, such as a score times 5e-324.
Weight = Annotated[wire.Number, Field(ge=0, le=100), AfterValidator(_to_a_millionth)]


Share = Annotated[wire.Number, Field(ge=0, le=1)]


def _explainable(explain: bool, info: ValidationInfo) -> bool:
    if explain and info.data.get("detail") in ("compact", "ids"):
        raise PydanticCustomError("not_explainable", "Answers of compact hits or ids have none: set detail to full.")
    return explain


def _with_text(snippets: bool, info: ValidationInfo) -> bool:
    if snippets and info.data.get("detail") == "ids":
        raise PydanticCustomError("no_snippets", "Answers of ids have none: set detail to compact, full or preview.")
    return snippets


def _given(query: str | None, info: ValidationInfo) -> str | None:
    # A vector that is invalid is reported already.
    if query is None and info.data.get("vector", ()) is None:
        raise PydanticCustomError("missing", "Give a query, a vector, or both.")
    return query


def _with_words(value: str, info: ValidationInfo) -> str:
    if value in ("lexical", "provider") and info.data.get("query", "") is None:
        raise PydanticCustomError("no_words", "Needs the words of a query: a vector alone has none.")
    return value


def _with_groups(size: int, info: ValidationInfo) -> int:
    if info.data.get("group_by") is None:
        raise PydanticCustomError("not_grouped", "Results have a group size only if they are grouped: add group_by.")
    return size


class AnswerOptions(wire.WireModel):
    """What of the results is returned, in which shape."""

    detail: Detail = Field("full", description="Fields and text of each hit.")
    omit_nulls: wire.OmitNulls = False
    cursor: Annotated[str, Field(max_length=MAX_CURSOR)] | None = Field(
        None,
        description="`next_cursor` of the page before, with an otherwise equal request; "
        f"up to {limits.MAX_RESULTS:,} results.",
    )
    group_by: GroupBy | None = Field(
        None, description="With `document`, each result is the best chunk of a document, and `limit` counts documents."
    )
    group_size: Annotated[wire.Int, Field(ge=1, le=limits.MAX_GROUP_SIZE), AfterValidator(_with_groups)] | None = Field(
        None, description=f"Maximum number of further chunks in the `more` of a grouped result; default {GROUP_SIZE}."
    )

    collapse: Collapse | None = Field(
        None,
        description="With `duplicates`, of passages with the same text but for a few words only the best one is a "
        "result; the others are counted in its `duplicates`.",
    )

    @property
    def is_collapsed(self) -> bool:
        """Whether duplicates are collapsed."""
        return self.collapse is not None

    @property
    def more(self) -> int | None:
        """The maximum number of further chunks of a result; None if results are not grouped."""
        return (self.group_size or GROUP_SIZE) if self.group_by else None


Explain = Annotated[wire.Flag, AfterValidator(_explainable)]
"""Whether an answer is explained; declared after `detail`, which must be `full` or `preview`."""


Snippets = Annotated[wire.Flag, AfterValidator(_with_text)]
"""Whether hits have snippets; declared after `detail`, which must not be `ids`."""
RERANK = "Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured reranker."
MMR = "Diversify the results by maximal marginal relevance; results are in the order of selection."
RERANK_WEIGHT = "Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before has the rest. Default 0.5."
MMR_LAMBDA = (
    "Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has the rest. Default 0.7."
)
SNIPPETS = "Include the best one to three sentences of each hit, with the offsets of what matches; not with `ids`."


RECENCY = (
    "Raise newer documents and lower older ones; `auto` does so if the query asks for the latest, newest or most "
    "recent, by the defaults."
)


class RecencyOptions(wire.WireModel):
    """How much newer documents are raised, and older ones lowered.

    `score · (1 + weight · (2 · 0.5^(age / half_life_days) − 1))`: a new document gains the share `weight`, one as old
    as the half-life keeps its score, as one without a date does, and a very old one loses the share `weight`.
    """

    half_life_days: Annotated[wire.Number, Field(ge=MIN_HALF_LIFE, le=MAX_HALF_LIFE)] = Field(
        30.0, description="Age in days at which a document's score is unchanged."
    )
    weight: Share = Field(0.2, description="Largest gain and loss, as a share of the score, 0 to 1.")
    field: Annotated[str, Field(min_length=1, max_length=MAX_DATE_FIELD)] | None = Field(
        None,
        description="Key of the metadata with the date, as filters read dates (of a list, the latest); `created_at` "
        "or null: when the document was created.",
    )
    only_if_asked: wire.Flag = Field(
        False, description="Only if the query asks for the latest, newest or most recent, as `auto` does."
    )

    def shape(self) -> RecencyShape:
        """The options as a core type."""
        field = None if self.field == CREATED_AT else self.field
        return RecencyShape(self.half_life_days, self.weight, field, self.only_if_asked)


RecencyChoice = Annotated[Literal["auto"] | RecencyOptions, Field(description=RECENCY)]


def recency_of(given: Literal["auto"] | RecencyOptions | None) -> RecencyShape | None:
    """How a request weighs the age of documents; None if it does not."""
    return RecencyShape(only_if_asked=True) if given == "auto" else given.shape() if given else None


class ReorderingOptions(Protocol):
    """The fields of a request that weigh the steps after fusion."""

    @property
    def rerank_weight(self) -> float | None: ...

    @property
    def mmr_lambda(self) -> float | None: ...


def reordering_of(given: ReorderingOptions, default: Reordering) -> Reordering:
    """The weights of a request, and the service's for those that it lacks."""
    return Reordering(
        default.rerank_weight if given.rerank_weight is None else given.rerank_weight,
        default.mmr_lambda if given.mmr_lambda is None else given.mmr_lambda,
    )


class LegWeights(wire.WireModel):
    """Weights of the two legs of a hybrid search, rounded to a millionth. A leg of weight 0 is not run."""

    vector: Weight = Field(1.0, description="Weight of the vector leg, 0 to 100.")
    text: Weight = Field(1.0, description="Weight of the text leg (BM25), 0 to 100.")

    @model_validator(mode="after")
    def _one_leg(self) -> Self:
        if self.vector == self.text == 0:
            raise PydanticCustomError("no_leg", "At least one leg needs a weight above 0.")
        return self


class SearchRequest(AnswerOptions):
    """A search by a question or keywords.

    Every hit has the `"phrases"` and the words required by `+word` or `AND`, and none excluded by `-word` or `NOT`.
    Groups in parentheses, prefixes (`conf*`) and fields (`title:lime`, `heading:mortar`) are required too. With
    `vector`, the query is not embedded, and may be left out.
    """

    vector: wire.Vector | None = Field(
        None,
        description="Your own vector of the query, with as many numbers as the stored vectors; used instead of "
        "embedding `query`, or alone. Not with several hops.",
    )
    query: Annotated[wire.QueryText | None, AfterValidator(_given)] = Field(
        None,
        validate_default=True,
        description=f"Text to search for: 1 to {limits.MAX_QUERY:,} characters, at least one of them visible; may be "
        "left out with `vector`.",
        examples=["How did we fix the sync interval of the buoys?"],
    )
    limit: Annotated[wire.Int, Field(ge=1, le=limits.MAX_HITS)] = Field(5, description="Maximum number of hits.")
    mode: Annotated[Mode, AfterValidator(_with_words)] = Field(
        "auto", description="Legs to run; with `auto` both run and the type of the query sets their weights."
    )
    fusion: Fusion = Field("auto", description="How the legs' results are fused; `auto` chooses by `mode`.")
    weights: LegWeights | None = Field(
        None, description="Weights of the legs; by default chosen by `mode` and `fusion`."
    )
    k: Annotated[wire.Int, Field(ge=1, le=limits.MAX_RANK_CONSTANT)] | None = Field(
        None, description="Rank constant of reciprocal rank fusion; default 60."
    )
    candidates: Annotated[wire.Int, Field(ge=limits.MIN_CANDIDATES, le=limits.MAX_CANDIDATES)] | None = Field(
        None, description="Number of chunks that each leg retrieves for fusion; default 100."
    )
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Conditions on the documents searched."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks to leave out of the results.")
    min_vector_score: Annotated[wire.Number, Field(ge=-1, le=1)] | None = Field(
        None, description="Minimum cosine similarity; hits without a vector score are dropped."
    )
    min_rrf_score: Annotated[wire.Number, Field(ge=0)] | None = Field(
        None, description="Minimum `rrf_score`, which is at most 2 / (k + 1) in every mode."
    )
    min_confidence: Confidence | None = Field(None, description="Minimum confidence.")
    min_relevance: Share | None = Field(
        None, description="Minimum relevance; only with an embedding model that is calibrated."
    )
    explain: Explain = Field(False, description="Include the components of each score; not with `compact` and `ids`.")
    snippets: Snippets = Field(False, description=SNIPPETS)

    depth: Depth = Field(
        "fast",
        description="`thorough` follows names as `/search/multihop` does, with limits up to "
        f"{limits.MAX_MULTIHOP_HITS} and without `min_…`; `auto` does so if the query contains names.",
    )
    hierarchy: Hierarchy = Field(
        "auto",
        description="Use of recognised entities to select and score documents; `force` ignores `threshold`.",
    )
    alpha: Share | None = Field(
        None,
        description="Weight of the passage's own score; its entity's score has the rest, times its aboutness.",
    )
    threshold: Share | None = Field(None, description="Minimum match score, 0 to 1, of an entity that is used.")
    max_entities: Annotated[wire.Int, Field(ge=1, le=limits.MAX_GUIDING_ENTITIES)] | None = Field(
        None, description="Maximum number of entities used."
    )
    boost: wire.Flag = Field(True, description="Raise the score of passages that mention an entity of the query.")

    rerank: Annotated[Rerank, AfterValidator(_with_words)] = Field("none", description=RERANK)
    rerank_weight: Share | None = Field(None, description=RERANK_WEIGHT)
    mmr: wire.Flag = Field(False, description=MMR)
    mmr_lambda: Share | None = Field(None, description=MMR_LAMBDA)
    recency: RecencyChoice | None = Field(None, description=RECENCY)

    def shape(self, user_id: str, *, candidates: int, k: int, guidance: Guidance, reordering: Reordering) -> QueryShape:
        """The query as a core type; all arguments but `user_id` are the service's defaults."""
        return QueryShape(
            user_id=user_id,
            text=self.query or "",
            vector=self.vector,
            limit=self.limit,
            mode=self.mode,
            fusion=self.fusion,
            weights=WeightShape(self.weights.vector, self.weights.text) if self.weights else None,
            k=self.k or k,
            candidates=max(self.candidates or candidates, self.limit),
            filters=self.filters.shape(),
            exclude_chunk_ids=tuple(self.exclude_chunk_ids),
            min_vector_score=self.min_vector_score,
            min_rrf_score=self.min_rrf_score,
            min_confidence=self.min_confidence,
            min_relevance=self.min_relevance,
            detail=self.detail,
            explain=self.explain,
            snippets=self.snippets,
            rerank=self.rerank,
            mmr=self.mmr,
            reordering=reordering_of(self, reordering),
            recency=recency_of(self.recency),
            cursor=self.cursor,
            group_size=self.more,
            collapse=self.is_collapsed,
            guidance=Guidance(
                mode=self.hierarchy,
                alpha=guidance.alpha if self.alpha is None else self.alpha,
                threshold=guidance.threshold if self.threshold is None else self.threshold,
                max_entities=self.max_entities or guidance.max_entities,
                boost=self.boost,
                boost_by_type=guidance.boost_by_type,
            ),
        )


class EntitySearchRequest(wire.WireModel):
    """A search for entities by a name in any spelling, a role, a team, or what is known about them."""

    query: wire.QueryText = Field(examples=["who looks after the tide gauges"])
    type: Annotated[str, Field(max_length=limits.MAX_ENTITY_TYPE)] | None = Field(
        None, description="Only entities of this type, such as `person`."
    )
    min_score: Share = Field(0.0, description="Minimum score; 1 is an exact name, 0.5 what guides a search.")
    limit: Annotated[wire.Int, Field(ge=1, le=limits.MAX_HITS)] = Field(10, description="Maximum number of entities.")

    def shape(self, user_id: str) -> EntityQuery:
        """The search as a core type."""
        return EntityQuery(user_id, self.query, self.limit, self.type, self.min_score)


class SimilarRequest(AnswerOptions):
    """A search for the neighbours of a stored chunk or of a vector; give exactly one of them."""

    chunk_id: UUID | None = Field(
        None, description="The chunk whose neighbours are returned, without the chunk itself."
    )
    vector: wire.Vector | None = Field(None, description="A vector with as many numbers as the stored vectors.")
    limit: Annotated[wire.Int, Field(ge=1, le=limits.MAX_HITS)] = Field(5, description="Maximum number of hits.")
    filters: SearchFilters = Field(
        default_factory=lambda: SearchFilters(), description="Conditions on the documents searched."
    )
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description="Chunks to leave out of the results.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.vector is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or vector, and only one of them.")
        return self
