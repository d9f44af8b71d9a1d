"""Defines the tool that says whether a passage helped."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from app.feedback import operations as feedback
from app.feedback.types import FeedbackRequest
from app.requests import field_types
from app.tools import ToolArguments, ToolContext, ToolResult, tool


class RatePassageArguments(ToolArguments):
    """A passage, the query that found it, and whether it helped."""

    query: field_types.QueryText = Field(description="The query of the search, unchanged.")
    chunk_id: UUID = Field(description="Id of the passage, from the result of the search.")
    helpful: bool = Field(description="Whether the passage helped to answer the query.", strict=True)


class PassageRated(ToolResult):
    """The result of rating a passage."""

    document_id: UUID = Field(description="Id of the document of the passage.")
    helpful: bool = Field(description="The stored judgement.")


async def rate_passage(given: RatePassageArguments, context: ToolContext) -> PassageRated:
    """Store a judgement."""
    said = FeedbackRequest(query=given.query, chunk_id=given.chunk_id, helpful=given.helpful)
    document_id = await feedback.give(said, context.user_id, context.services)
    return PassageRated(document_id=document_id, helpful=given.helpful)


TOOLS = (
    tool(
        rate_passage,
        "Rate a passage",
        "Say whether a passage from a search helped to answer the query. Call it for passages that you used in an "
        "answer, and for those that turned out to be about something else. The query is stored with it.",
        stores=True,
    ),
)
