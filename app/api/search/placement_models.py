"""Defines the request and response models of the explanation of where a passage stands in a search."""

from __future__ import annotations

from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.contract.responses import Response, ShownUri
from app.api.documents.document_models import Uri
from app.api.search import placement_fields, placement_sentences
from app.api.search.hit_models import RELAXED, RELEVANCE
from app.pipelines.requests.search_request import SearchRequest
from app.shapes import PassageKey, Placement
from app.shapes.kinds import PlacementVerdict, SearchLeg, SearchStep


class WhyRequest(SearchRequest):
    """A search, and the passage to explain: give exactly one of `chunk_id`, `document_id` and `uri`."""

    chunk_id: UUID | None = Field(None, description="The chunk to explain.")
    document_id: UUID | None = Field(None, description="The document of which the best placed chunk is explained.")
    uri: Uri | None = Field(None, description="The same by the URI of the document.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(key is not None for key in (self.chunk_id, self.document_id, self.uri)) != 1:
            raise PydanticCustomError("one_of", "Give one of chunk_id, document_id and uri, and only one of them.")
        return self

    @property
    def passage(self) -> PassageKey:
        """The passage as a core type."""
        return PassageKey(self.chunk_id, self.document_id, self.uri)


class PlacedChunk(Response):
    """The chunk that is explained."""

    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    source_id: UUID | None = Field(None, description="Id of the source of the document.")
    uri: ShownUri | None = Field(None, description="URI of the document; of a file its path.")
    title: str = Field(description="Title of the document.")
    heading_path: list[str] = Field(description="Headings above the passage, outermost first.")
    chunk_index: int = Field(description="Index of the chunk in its document, from 0.")
    text: str = Field(validation_alias="content", description="Text of the passage.")
    cosine: float | None = Field(None, description="Cosine similarity to the query; null if it was not embedded.")


class LegPlacement(Response):
    """Where the chunk stands in a leg that ran.

    Beyond the candidates, score and rank are those without the filters, exclusions and required words that it fails.
    """

    leg: SearchLeg = Field(description="The leg.")
    candidate: bool = Field(description="Whether it is among the candidates of the leg.")
    rank: int | None = Field(None, description="Rank in the leg, from 1; null if the text leg does not find it.")
    exact: bool = Field(description="False in a very large corpus, where `rank` is the best rank that is possible.")
    candidates: int = Field(description="Number of candidates of the leg.")
    score: float | None = Field(None, description="Cosine similarity or BM25 score; null if the leg does not find it.")
    entry_score: float | None = Field(
        None, description="Lowest score of a candidate; null if the leg has fewer candidates than it may have."
    )
    words: list[str] | None = Field(
        None, description="Text leg: the lexemes of the query that the chunk contains; null in the vector leg."
    )
    synonyms: list[str] | None = Field(
        None, description="Text leg: those of `words` that only synonyms of the query's words have."
    )


class PlacementStep(BaseModel):
    """A step of the search that the passage passed or did not pass."""

    step: SearchStep = Field(description="The step.")
    passed: bool = Field(
        description="Whether the passage passed it; of an ordering step: is within the limit after it."
    )
    field: str | None = Field(None, description="Field of the request that the step follows from.")
    value: Any = Field(None, description="Value of the passage, such as its rank, score or stored metadata.")
    needed: Any = Field(None, description="Value of the request that it is compared with; not a long list of ids.")
    detail: str = Field(description="Both in a sentence.")


class PlacementChange(BaseModel):
    """Another value of one field of the request."""

    field: str = Field(description="The field, such as `limit` or `filters.metadata.team`.")
    value: Any = Field(None, description="Its new value; null: leave it out.")


class PlacementAnswer(BaseModel):
    """Where a passage stands in a search, and what keeps it out of the answer."""

    verdict: PlacementVerdict = Field(description="Whether the passage is returned, or the first reason why not.")
    summary: str = Field(description="The reason and its remedy in one or two sentences.")
    chunk: PlacedChunk | None = Field(None, description="The chunk that is explained; null if it is not stored.")
    rank: int | None = Field(
        None, description="Its place, from 1, in the order of all results, or of all candidates; null if it has none."
    )
    limit: int = Field(description="The limit of the request.")
    score: float | None = Field(None, description="Its score, 0 to 1; null without a rank.")
    relevance: float | None = Field(None, description=RELEVANCE)
    legs: list[LegPlacement] = Field(description="Its place in each leg that ran.")
    steps: list[PlacementStep] = Field(description="The steps that the request has, in their order.")
    changes: list[PlacementChange] = Field(
        description="Changes of the request that bring the passage in or at least nearer, tested by running the "
        "search; empty if it is returned, if there are none, and with `rerank: provider`."
    )
    rank_after: int | None = Field(
        None, description="Its rank in the search with all changes; beyond the limit if only further pages reach it."
    )
    degraded: list[str] = Field(description="Codes of what failed and was left out of the search.")
    relaxed: list[str] = Field(description=RELAXED)
    timings: dict[str, float] = Field(description="Milliseconds per stage.")

    @classmethod
    def of(cls, placement: Placement) -> PlacementAnswer:
        """The response model of a placement."""
        return cls(
            verdict=placement.verdict,
            summary=placement_sentences.summary(placement),
            chunk=PlacedChunk.of(placement.chunk) if placement.chunk else None,
            rank=placement.rank,
            limit=placement.limit,
            score=placement.score,
            relevance=placement.relevance,
            legs=[LegPlacement.of(leg) for leg in placement.legs],
            steps=[
                PlacementStep(
                    step=step.step,
                    passed=step.passed,
                    field=placement_fields.of_step(step),
                    value=step.value,
                    needed=placement_fields.needed(step),
                    detail=placement_sentences.detail(step, placement),
                )
                for step in placement.steps
            ],
            changes=[
                PlacementChange(field=field, value=value)
                for change in placement.changes
                for field, value in placement_fields.of_change(change)
            ],
            rank_after=placement.rank_after,
            degraded=list(placement.degraded),
            relaxed=list(placement.relaxed),
            timings=dict(placement.timings or {}),
        )
