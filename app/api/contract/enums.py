"""Declares the enums of the API as named type aliases, so that the OpenAPI document defines each of them once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app import shapes
from app.pipelines.maintenance import standby_checks
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
LeftOutReason = TypeAliasType(
    "LeftOutReason",
    Annotated[shapes.LeftOutReason, Field(description="Why a file of a folder or an archive is left out.")],
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
ExtractorUsed = TypeAliasType(
    "ExtractorUsed",
    Annotated[shapes.TermMethodUsed, Field(description="Method that extracted the terms of a hop.")],
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
SearchMode = TypeAliasType(
    "SearchMode",
    Annotated[
        Literal["two_pass", "flat"],
        Field(description="Whether entities guided a two-pass search (`two_pass`)."),
    ],
)
SearchLeg = TypeAliasType("SearchLeg", Annotated[shapes.Leg, Field(description="A leg of a search.")])
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
