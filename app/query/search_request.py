"""Defines the request of a search, which its steps read as the query, and the request for similar passages."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from app import enums, limits
from app.database.filter_types import Filters
from app.query import moved_fields
from app.requests import field_types
from app.requests.filter_models import FILTERS, RequestFilters
from app.text.queries import query_parsing

MAX_CURSOR = 64
MIN_HALF_LIFE, MAX_HALF_LIFE = 0.01, 36_500
MAX_DATE_FIELD = 200
CREATED_AT = "created_at"
RERANK = "Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured reranker."
POOL_FACTOR = 4
MIN_POOL, MAX_POOL = 25, 100
"""Least and most hits to re-rank. Between these bounds their number is four times the limit."""
MIN_COMPARED = 10
"""If duplicates are collapsed, twice as many hits as the limit are read, and at least this many. If too many are
duplicates, the page reads further hits."""
MMR = "Diversify the results by maximal marginal relevance; results are in the order of selection."
RERANK_WEIGHT = "Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before it has the remaining weight."
MMR_LAMBDA = (
    "Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has the remaining weight."
)
_RECENCY = (
    "Raise newer documents and lower older ones; `auto` does so if the query asks for the latest, newest or most "
    "recent, by the defaults."
)

Share = Annotated[field_types.Number, Field(ge=0, le=1)]


# Rounded, because Postgres raises an error on a product too small for a float, such as a score times 5e-324.
_Weight = Annotated[field_types.Number, Field(ge=0, le=100), AfterValidator(lambda weight: round(weight, 6))]


class LegWeights(field_types.WireModel):
    """Weights of the two legs of a hybrid search, rounded to a millionth. A leg of weight 0 is not run."""

    vector: _Weight = Field(1.0, description="Weight of the vector leg, 0 to 100.")
    text: _Weight = Field(1.0, description="Weight of the text leg (BM25), 0 to 100.")

    @model_validator(mode="after")
    def _one_leg(self) -> Self:
        if self.vector == self.text == 0:
            raise PydanticCustomError("no_leg", "At least one leg needs a weight above 0.")
        return self


class GuidanceOptions(field_types.WireModel):
    """Use of the entities that a query names to select and score documents."""

    mode: enums.GuidanceMode | None = Field(
        None,
        description="`force` uses entities below `threshold` if none reaches it. By default `auto` in one search, "
        "`off` over several hops, and `force` in a two-pass search.",
    )
    alpha: Share = Field(
        0.5, description="Weight of the passage's own score; its entity's score has the rest, times its aboutness."
    )
    threshold: Share = Field(0.5, description="Minimum match score, 0 to 1, of an entity that is used.")
    max_entities: Annotated[field_types.Int, Field(ge=1, le=limits.MAX_GUIDING_ENTITIES)] = Field(
        5, description="Maximum number of entities used."
    )
    boost: field_types.Flag = Field(
        True, description="Raise the score of passages that mention an entity of the query."
    )


class HopOptions(field_types.WireModel):
    """Options of a search over several hops."""

    max_hops: Annotated[field_types.Int, Field(ge=limits.MIN_HOPS, le=limits.MAX_HOPS)] = Field(
        2, description="Maximum number of retrieval rounds."
    )
    merge: enums.HopMerge = Field(
        "linked",
        description="How hits of all hops are scored: by their links, or by RRF with a bonus for hop 1 (`classic`).",
    )
    extractor: enums.Extractor = Field(
        "auto",
        description="How the terms of a further hop are extracted; `auto` uses the best method available, and with "
        "`none` a hop follows links without searching again, in about half of the extra time.",
    )


_USUAL_HOPS = HopOptions()


class Group(field_types.WireModel):
    """Groups results: each is the best chunk of a document, and `limit` counts documents."""

    by: enums.GroupBy = Field("document", description="What results are grouped by.")
    size: Annotated[field_types.Int, Field(ge=1, le=limits.MAX_GROUP_SIZE)] = Field(
        3, description="Maximum number of further chunks in the `more` of a result."
    )


class Recency(field_types.WireModel):
    """How much newer documents are raised, and older ones lowered.

    `score · (1 + weight · (2 · 0.5^(age / half_life_days) − 1))`: a new document gains the share `weight`, a
    document as old as the half-life keeps its score, and a very old document loses the share `weight`. A document
    without a date keeps its score.
    """

    half_life_days: Annotated[field_types.Number, Field(ge=MIN_HALF_LIFE, le=MAX_HALF_LIFE)] = Field(
        30.0, description="Age in days at which a document's score is unchanged."
    )
    weight: Share = Field(0.2, description="Largest gain and loss, as a share of the score, 0 to 1.")
    field: Annotated[str, Field(min_length=1, max_length=MAX_DATE_FIELD)] | None = Field(
        None,
        description="Key of the metadata with the date, as filters read dates (of a list, the latest); `created_at` "
        "or null: when the document was created.",
    )
    only_if_asked: field_types.Flag = Field(
        False, description="Only if the query asks for the latest, newest or most recent, as `auto` does."
    )

    @property
    def key(self) -> str | None:
        """The key of the metadata with the date; None for the creation time."""
        return None if self.field == CREATED_AT else self.field


class Ranking(field_types.WireModel):
    """What tunes a search. Every option has a default that suits most searches."""

    moved = moved_fields.IN_RANKING

    fusion: enums.Fusion = Field("auto", description="How the legs' results are fused; `auto` chooses by `mode`.")
    weights: LegWeights | None = Field(
        None, description="Weights of the legs; by default chosen by `mode` and `fusion`."
    )
    k: Annotated[field_types.Int, Field(ge=1, le=limits.MAX_RANK_CONSTANT)] = Field(
        60, description="Rank constant of reciprocal rank fusion."
    )
    candidates: Annotated[field_types.Int, Field(ge=limits.MIN_CANDIDATES, le=limits.MAX_CANDIDATES)] = Field(
        limits.CANDIDATES, description="Number of chunks that each leg retrieves for fusion."
    )
    guidance: GuidanceOptions = Field(
        default_factory=GuidanceOptions,
        description="Use of entities. Its options may stand in `ranking` itself too: `hierarchy` (its `mode`), "
        "`alpha`, `threshold` and `max_entities`.",
    )
    mmr: field_types.Flag = Field(False, description=MMR)
    mmr_lambda: Share = Field(0.7, description=MMR_LAMBDA)
    rerank: enums.Rerank = Field("none", description=RERANK)
    rerank_weight: Share = Field(0.5, description=RERANK_WEIGHT)
    recency: Annotated[Literal["auto"] | Recency, Field(description=_RECENCY)] | None = Field(
        None, description=_RECENCY
    )
    min_vector_score: Annotated[field_types.Number, Field(ge=-1, le=1)] | None = Field(
        None, description="Minimum cosine similarity; hits without a vector score are dropped."
    )
    min_rrf_score: Annotated[field_types.Number, Field(ge=0)] | None = Field(
        None, description="Minimum `rrf_score`, which is at most 2 / (k + 1) in every mode."
    )
    min_confidence: enums.Confidence | None = Field(None, description="Minimum confidence.")
    min_relevance: Share | None = Field(None, description="Minimum relevance; only with a text.")
    hops: HopOptions | None = Field(None, description="Options of several hops; only with `depth` auto or thorough.")
    group: Group | None = Field(None, description="Group the results by document.")

    @classmethod
    def expanded(cls, given: dict[str, Any]) -> dict[str, Any]:
        """The options. Options of guidance by short names are moved to `guidance`, unless that is given too."""
        short = {name: value for name, value in given.items() if name in moved_fields.SHORT_GUIDANCE}
        if not short or given.get("guidance") is not None:
            return given
        guidance = {moved_fields.SHORT_GUIDANCE[name]: value for name, value in short.items()}
        return {**{name: value for name, value in given.items() if name not in short}, "guidance": guidance}


_NO_WORDS = "Needs the words of a query: a vector alone has none."


def _explainable(explain: bool, info: ValidationInfo) -> bool:
    if explain and info.data.get("detail") == "ids":
        raise PydanticCustomError("not_explainable", "Answers of ids have none: set detail to full or compact.")
    return explain


def _with_words(mode: enums.Mode, info: ValidationInfo) -> enums.Mode:
    if mode == "lexical" and info.data.get("query", "") is None:
        raise PydanticCustomError("no_words", _NO_WORDS)
    return mode


CHUNK_IDS_EXCLUDED = "Chunks to leave out of the results."
Limit = Annotated[field_types.Int, Field(ge=1, le=limits.MAX_HITS)]
Explain = Annotated[field_types.Flag, AfterValidator(_explainable)]
"""Whether an answer is explained; declared after `detail`, which must have hits to explain."""
Cursor = Annotated[str, Field(max_length=MAX_CURSOR)]
CURSOR = f"`next_cursor` of the page before, with an otherwise equal request; up to {limits.MAX_RESULTS:,} results."
COLLAPSE = "With `duplicates`, of passages with the same text but for a few words only the best one is a result."


class SearchRequest(field_types.WireModel):
    """A search by a question or keywords.

    Every hit has the `"phrases"` and the words required by `+word` or `AND`, and none excluded by `-word` or `NOT`.
    Groups in parentheses, prefixes (`conf*`) and fields (`title:lime`, `heading:mortar`) are required too. With
    `vector`, the query is not embedded, and may be left out.
    """

    moved = moved_fields.OF_SEARCH

    query: field_types.QueryText | None = Field(
        None,
        description=f"Text to search for: 1 to {limits.MAX_QUERY:,} characters, at least one of them visible; may be "
        "left out with `vector`.",
        examples=["How did we fix the sync interval of the buoys?"],
    )
    vector: field_types.Vector | None = Field(
        None,
        description="Your own vector of the query, with as many numbers as the stored vectors; used instead of "
        "embedding `query`, or alone. Not with several hops.",
    )
    limit: Limit = Field(
        5, description=f"Maximum number of hits; over several hops at most {limits.MAX_MULTIHOP_HITS}."
    )
    filters: RequestFilters = Field(default_factory=Filters, description=FILTERS)
    exclude_chunk_ids: field_types.IdList = Field(default_factory=list, description=CHUNK_IDS_EXCLUDED)
    mode: Annotated[enums.Mode, AfterValidator(_with_words)] = Field(
        "auto", description="Legs to run; with `auto` both run and the type of the query sets their weights."
    )
    depth: enums.Depth = Field(
        default_factory=lambda: "fast",  # not declared: generated clients would send it, also to /search/multihop
        description="By default `fast`; `thorough` follows names as `/search/multihop` does, without minimum scores; "
        "`auto` does so if the query contains names.",
    )
    cursor: Cursor | None = Field(None, description=CURSOR)
    detail: enums.Detail = Field("full", description="Text of each hit.")
    collapse: enums.Collapse = Field("duplicates", description=COLLAPSE)
    explain: Explain = Field(
        False, description="Include how the query was read and how each score was made; not with `ids`."
    )
    ranking: Ranking = Field(default_factory=Ranking, description="What tunes the search.")

    @model_validator(mode="after")
    def _query_or_vector(self) -> Self:
        if self.query is None and self.vector is None:
            raise field_types.field_error(type(self), ("query",), "missing", "Give a query, a vector, or both.")
        if self.query is None and self.ranking.rerank == "provider":
            raise field_types.field_error(type(self), ("ranking", "rerank"), "no_words", _NO_WORDS)
        return self

    @property
    def text(self) -> str:
        """The text of the query; empty for a vector alone."""
        return self.query or ""

    @property
    def is_collapsed(self) -> bool:
        """Whether duplicates are collapsed."""
        return self.collapse == "duplicates"

    @property
    def is_compact(self) -> bool:
        """Whether hits have the sentences that match instead of their text."""
        return self.detail == "compact"

    @property
    def group_size(self) -> int | None:
        """The maximum number of further chunks of a result; None if results are not grouped."""
        group = self.ranking.group
        return None if group is None else group.size

    @property
    def has_minimum(self) -> bool:
        """Whether hits below a confidence or relevance are left out. Both are known only after the hits are ordered."""
        return self.ranking.min_confidence is not None or self.ranking.min_relevance is not None

    @property
    def is_reranked(self) -> bool:
        """Whether the best hits are re-ranked."""
        return self.ranking.rerank != "none"

    @property
    def is_reordered(self) -> bool:
        """Whether the best hits are re-ranked or diversified."""
        return self.is_reranked or self.ranking.mmr

    @property
    def recency(self) -> Recency | None:
        """How the age of documents is weighed; None if it does not count for this query."""
        given = self.ranking.recency
        if given == "auto":
            given = Recency(only_if_asked=True)
        if given is None or (given.only_if_asked and not query_parsing.asks_for_newest(self.text)):
            return None
        return given

    @property
    def candidates_wanted(self) -> int:
        """The number of candidates that fill the answer after later steps have dropped some."""
        if self.has_minimum or self.group_size is not None:
            return 2 * self.ranking.candidates
        if self.recency is not None:
            return self.ranking.candidates
        if self.is_reordered:
            return pool_size(self.limit)
        return max(MIN_COMPARED, 2 * self.limit) if self.is_collapsed else self.limit

    @property
    def hops(self) -> HopOptions:
        """The options of several hops."""
        return self.ranking.hops or _USUAL_HOPS

    @property
    def names_extractor(self) -> bool:
        """Whether the request says how the terms of further hops are extracted."""
        hops = self.ranking.hops
        return hops is not None and "extractor" in hops.model_fields_set

    def changed(self, **fields: Any) -> SearchRequest:
        """The request with other values of its fields, which are not validated."""
        return self.model_copy(update=fields)

    def tuned(self, **options: Any) -> SearchRequest:
        """The request with other values of options of its ranking, which are not validated."""
        return self.changed(ranking=self.ranking.model_copy(update=options))

    def guided(self, **options: Any) -> SearchRequest:
        """The request with other values of options of its guidance, which are not validated."""
        return self.tuned(guidance=self.ranking.guidance.model_copy(update=options))

    def completed(self, *, mode: enums.GuidanceMode) -> SearchRequest:
        """The request with at least as many candidates as hits, and with this mode of guidance if it has none."""
        guidance = self.ranking.guidance
        guidance = guidance.model_copy(update={"mode": guidance.mode or mode})
        return self.tuned(candidates=max(self.ranking.candidates, self.limit), guidance=guidance)


def pool_size(limit: int) -> int:
    """The number of candidates that are re-ranked for `limit` hits."""
    return min(MAX_POOL, max(MIN_POOL, POOL_FACTOR * limit))


class SimilarRequest(field_types.WireModel):
    """A search for the neighbours of a stored chunk or of a vector; give exactly one of them."""

    moved = moved_fields.OF_SIMILAR

    chunk_id: UUID | None = Field(
        None, description="The chunk whose neighbours are returned, without the chunk itself."
    )
    vector: field_types.Vector | None = Field(None, description="A vector with as many numbers as the stored vectors.")
    limit: Limit = Field(5, description="Maximum number of hits.")
    filters: RequestFilters = Field(default_factory=Filters, description=FILTERS)
    exclude_chunk_ids: field_types.IdList = Field(default_factory=list, description=CHUNK_IDS_EXCLUDED)
    cursor: Cursor | None = Field(None, description=CURSOR)
    detail: enums.Detail = Field("full", description="Text of each hit.")
    collapse: enums.Collapse = Field("duplicates", description=COLLAPSE)
    group: Group | None = Field(None, description="Group the results by document.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.vector is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or vector, and only one of them.")
        return self
