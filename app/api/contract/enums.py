"""Declares the enums of the API as named type aliases, so that the OpenAPI document defines each of them once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app import shapes
from app.pipelines.maintenance import standby_checks
from app.pipelines.multihop import multihop
from app.pipelines.search import merge_lists
from app.shapes import signals
from app.tools import formats

BreakerState = TypeAliasType(
    "BreakerState",
    Annotated[
        Literal["closed", "half_open", "open"],
        Field(description="State of a circuit breaker: while it is `open`, the model is not called."),
    ],
)
Confidence = TypeAliasType(
    "Confidence",
    Annotated[shapes.Confidence, Field(description="Confidence in a hit, derived from its scores.")],
)
ConfidenceBasis = TypeAliasType(
    "ConfidenceBasis",
    Annotated[
        shapes.ConfidenceBasis,
        Field(description="What confidence follows from: the relevance of the hits, or their ranks in the legs."),
    ],
)
CalibrationBasis = TypeAliasType(
    "CalibrationBasis",
    Annotated[
        shapes.CalibrationSource,
        Field(description="What a calibration was fitted to: judged questions of a folder, or stored feedback."),
    ],
)
DatabaseState = TypeAliasType(
    "DatabaseState",
    Annotated[
        Literal["writable", "read_only", "unavailable"],
        Field(
            description="State of the database: `read_only` if it is a standby or refuses writes for another reason, "
            "`unavailable` if only the standby serves reads."
        ),
    ],
)
DocumentOrder = TypeAliasType(
    "DocumentOrder",
    Annotated[
        shapes.DocumentOrder,
        Field(
            description="Order of documents: the last created first (`newest`), the first created first, the last "
            "changed first, or by title without its case."
        ),
    ],
)
StandbyStatus = TypeAliasType(
    "StandbyStatus",
    Annotated[
        standby_checks.StandbyState,
        Field(
            description="State of the standby in DATABASE_READ_URL: reads go to it (`ready`), it cannot be reached "
            "(`unavailable`), or it is not a copy of the primary with this version's schema (`refused`)."
        ),
    ],
)
Depth = TypeAliasType(
    "Depth",
    Annotated[
        shapes.Depth,
        Field(description="One search (`fast`), several hops (`thorough`), or the better one for the query (`auto`)."),
    ],
)
DepthReason = TypeAliasType(
    "DepthReason",
    Annotated[
        shapes.DepthReason,
        Field(
            description="Why a depth was used: it was requested; the query contains names, only names or none; it is "
            "about an entity, which guides a search; it is a phrase, an identifier or has required words; or it has "
            "options that only a search supports."
        ),
    ],
)
DepthUsed = TypeAliasType(
    "DepthUsed", Annotated[shapes.DepthUsed, Field(description="Whether one search or several hops answered.")]
)
Detail = TypeAliasType(
    "Detail",
    Annotated[
        shapes.Detail,
        Field(
            description="Fields of a hit: `ids` has ids and the score, `compact` what a language model needs, `full` "
            "all, `preview` all with the first 240 characters of the text."
        ),
    ],
)
EntityOrigin = TypeAliasType(
    "EntityOrigin",
    Annotated[
        Literal["user", "metadata", "title"],
        Field(description="Origin of an entity: stored through the API, or extracted from documents."),
    ],
)
EntityStatus = TypeAliasType(
    "EntityStatus",
    Annotated[
        Literal["added", "updated", "unchanged", "refused"],
        Field(description="What a line of a bulk upsert did to its entity."),
    ],
)
Extractor = TypeAliasType(
    "Extractor",
    Annotated[
        shapes.TermMethod,
        Field(
            description="Method that extracts the terms of a further hop: `auto` is the best one available, and with "
            "`none` the hop only follows links."
        ),
    ],
)
ExtractorUsed = TypeAliasType(
    "ExtractorUsed",
    Annotated[shapes.TermMethodUsed, Field(description="Method that extracted the terms of a hop.")],
)
FullDetail = TypeAliasType(
    "FullDetail",
    Annotated[Literal["full", "preview"], Field(description="Values of `detail` with every field of a hit.")],
)
Fusion = TypeAliasType(
    "Fusion",
    Annotated[shapes.Fusion, Field(description="Method that fuses the results of the vector leg and the text leg.")],
)
FusionUsed = TypeAliasType(
    "FusionUsed",
    Annotated[shapes.FusionUsed, Field(description="Method that fused the results of both legs.")],
)
GroupBy = TypeAliasType(
    "GroupBy",
    Annotated[Literal["document"], Field(description="What results are grouped by: the document of their chunks.")],
)
Collapse = TypeAliasType(
    "Collapse",
    Annotated[
        Literal["duplicates"],
        Field(description="What is collapsed: passages with the same text, but for a few words."),
    ],
)
Hierarchy = TypeAliasType(
    "Hierarchy", Annotated[shapes.GuidanceMode, Field(description="Use of entities in a search.")]
)
HopMerge = TypeAliasType(
    "HopMerge",
    Annotated[
        multihop.Merge,
        Field(description="Score of the hits of all hops: by their links, or by RRF with a bonus for hop 1."),
    ],
)
SourceStatus = TypeAliasType(
    "SourceStatus",
    Annotated[Literal["added", "changed", "unchanged"], Field(description="Whether a source was new or changed.")],
)
JobStatus = TypeAliasType("JobStatus", Annotated[shapes.JobStatus, Field(description="State of a background job.")])
_LINKS = sorted(signals.LINKS.values(), key=lambda link: link.start == "search")
LinkKind = TypeAliasType(
    "LinkKind",
    Annotated[
        str,
        Field(
            description="; ".join(f"{link.name}: {link.meaning}" for link in _LINKS) + ".",
            json_schema_extra={"enum": list(signals.LINKS)},
        ),
    ],
)
ListMerge = TypeAliasType(
    "ListMerge",
    Annotated[
        merge_lists.Method,
        Field(description="Method that merges lists: RRF, or RRF with bonuses for hop 1 and for single hits."),
    ],
)
MatchedBy = TypeAliasType(
    "MatchedBy", Annotated[shapes.MatchedBy, Field(description="Field of an entity that matched a query.")]
)
MatchKind = TypeAliasType(
    "MatchKind",
    Annotated[
        shapes.MatchKind,
        Field(
            description="term: a word of the query as written; stem: another form of it; phrase: a quoted phrase; "
            "hop: a word of the name by which a later hop reached the hit."
        ),
    ],
)
MentionKind = TypeAliasType(
    "MentionKind", Annotated[shapes.MentionKind, Field(description="Where a document mentions an entity.")]
)
MergeDetail = TypeAliasType(
    "MergeDetail",
    Annotated[
        Literal["ids", "compact", "full"],
        Field(
            description="Fields of a merged hit: `ids` has the id and the score, `compact` also the hit as sent, "
            "`full` also the parts of the score."
        ),
    ],
)
Mode = TypeAliasType(
    "Mode",
    Annotated[
        shapes.Mode,
        Field(description="Legs of a search: `semantic` is the vector leg, `lexical` the text leg, `hybrid` both."),
    ],
)
PlacementVerdict = TypeAliasType(
    "PlacementVerdict",
    Annotated[
        shapes.Verdict,
        Field(
            description="returned: it is in the answer; not_found: it is not stored; filtered: its document fails a "
            "filter; excluded: by its id or a word; missing_words: it lacks a required word or phrase, or fails "
            "another condition; not_a_candidate: no leg has it among its candidates; below_threshold: of a score, "
            "confidence or relevance; outranked: it is beyond the limit; guided_out, reranked_out, "
            "aged_out, diversified_out: entities, re-ranking, the age of its document or MMR moved it beyond the "
            "limit; grouped_out: other chunks of its document are shown; duplicate: it repeats a passage of the "
            "answer; hops_out: one search returns it, several hops do not."
        ),
    ],
)
QueryType = TypeAliasType(
    "QueryType", Annotated[shapes.QueryType, Field(description="Type of a query, detected by its form.")]
)
Rerank = TypeAliasType("Rerank", Annotated[shapes.Rerank, Field(description="Method that rescores the top hits.")])
SearchLeg = TypeAliasType("SearchLeg", Annotated[shapes.Leg, Field(description="A leg of a search.")])
SearchMode = TypeAliasType(
    "SearchMode",
    Annotated[shapes.SearchMode, Field(description="Kind of search: without entities, guided by them, or in hops.")],
)
SearchStep = TypeAliasType(
    "SearchStep",
    Annotated[
        shapes.Step,
        Field(
            description="A step of a search, in order: its depth, what is in scope, words, candidates, thresholds of "
            "the legs, the order by fusion, entities, re-ranking, age and MMR, thresholds of the hits, "
            "duplicates, groups, the limit."
        ),
    ],
)
StoreStatus = TypeAliasType(
    "StoreStatus",
    Annotated[
        Literal["added", "replaced", "changed", "unchanged", "queued"],
        Field(description="What a write did to the document; `queued`: a job stores it."),
    ],
)
ToolFormat = TypeAliasType(
    "ToolFormat", Annotated[formats.Format, Field(description="API that definitions of tools are for.")]
)
