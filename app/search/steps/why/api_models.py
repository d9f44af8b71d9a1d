"""Defines the request and the response of `/search/why`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from app import limits
from app.enums import Meaning
from app.query.search_request import SearchRequest
from app.text import uris

_OrderingStep = Literal["guidance", "rerank", "recency", "mmr"]
_Minimum = Literal["min_vector_score", "min_rrf_score", "min_confidence", "min_relevance"]
_Scope = Literal["filters", "exclude_chunk_ids", "query", "candidates"]
KeptOutBy = TypeAliasType(
    "KeptOutBy",
    Annotated[
        Literal[_Scope, _OrderingStep, _Minimum, "collapse", "group", "limit", "hops"],
        Meaning(
            "What keeps a passage out of an answer. `query`: an excluded word, or a condition that is not met; "
            "`candidates`: no leg has it among its candidates; `hops`: one search returns it, several hops do not."
        ),
    ],
)
OrderingStep = TypeAliasType("OrderingStep", Annotated[_OrderingStep, Meaning("A step that orders passages anew.")])
SearchLeg = TypeAliasType("SearchLeg", Annotated[Literal["vector", "text"], Meaning("A leg of a search.")])


class WhyRequest(SearchRequest):
    """A search, and the passage to explain: give exactly one of `chunk_id`, `document_id` and `uri`."""

    chunk_id: UUID | None = Field(None, description="The chunk to explain.")
    document_id: UUID | None = Field(None, description="The document whose best placed chunk is explained.")
    uri: Annotated[str, Field(min_length=1, max_length=limits.MAX_URI)] | None = Field(
        None, description="The same by the URI of the document."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(key is not None for key in (self.chunk_id, self.document_id, self.uri)) != 1:
            raise PydanticCustomError("one_of", "Give one of chunk_id, document_id and uri, and only one of them.")
        return self


class LegPlace(BaseModel):
    """The place of a passage in one leg."""

    rank: int | None = Field(description=f"Its rank, from 1; null beyond the first {limits.MAX_CANDIDATES:,}.")
    score: float | None = Field(description="Cosine similarity or BM25 score; null where it is not known.")
    is_candidate: bool = Field(description="Whether it is among the candidates of the request.")


class StepPlace(BaseModel):
    """The places of a passage before and after a step that orders passages, from 1."""

    step: OrderingStep = Field(description="The step.")
    rank_before: int = Field(description="Its place before the step.")
    rank_after: int = Field(description="Its place after the step.")


class Placement(BaseModel):
    """Where a passage ranks in a search, and what keeps it out of the answer."""

    found: bool = Field(description="Whether it is in the answer.")
    rank: int | None = Field(
        description="Its place among the results of all pages, from 1; if filters, exclusions or conditions leave it "
        "out, the place without these."
    )
    kept_out_by: KeptOutBy | None = Field(description="The first thing that keeps it out; null if it is found.")
    reason: str = Field(description="The reason in a sentence.")
    change: dict[str, Any] | None = Field(
        description="New values of fields of the request, by their paths, that bring it in or nearer; a null leaves "
        "the field out. Null if it is found or nothing helps."
    )
    legs: dict[SearchLeg, LegPlace] = Field(description="Its place in each leg that ran, without what leaves it out.")
    steps: list[StepPlace] = Field(description="Its places before and after each step that orders passages.")
    chunk_id: UUID = Field(description="Id of the chunk.")
    document_id: UUID = Field(description="Id of its document.")
    title: str = Field(description="Title of the document.")
    uri: Annotated[str, AfterValidator(uris.show)] | None = Field(description="URI or path of the document.")
