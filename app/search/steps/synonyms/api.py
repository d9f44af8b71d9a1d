"""Serves the endpoints of a user's synonyms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from fastapi import Body
from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.http import auth, bodies, problems
from app.http.responses import Response
from app.requests import field_types
from app.search.steps.synonyms import synonym_lines, synonyms
from app.text.words import cleaning, tsvector_text


def _term(text: str) -> str:
    text = " ".join(cleaning.clean(text).text.split())
    if not tsvector_text.index_text(text, "simple"):
        raise PydanticCustomError("blank_term", "Must contain a letter or a digit.")
    return text


Term = Annotated[str, Field(max_length=synonym_lines.MAX_LENGTH, min_length=1), AfterValidator(_term)]
Terms = Annotated[list[Term], *field_types.at_most(synonym_lines.MAX_TERMS, at_least=1)]

_TERMS = "Words and phrases that mean the same; a query with one of them also searches for the others."
_EXPAND_TO = (
    "With these, a query with one of `terms` also searches for them, and not for the other terms. Empty: the terms "
    "stand for one another."
)


class SynonymsGroup(field_types.WireModel):
    """Words and phrases that mean the same, or words and phrases that expand to others."""

    terms: Terms = Field(description=_TERMS, examples=[["boiler", "furnace", "heating unit"]])
    expand_to: Annotated[list[Term], *field_types.at_most(synonym_lines.MAX_TERMS)] | None = Field(
        None, description=_EXPAND_TO
    )

    @model_validator(mode="after")
    def _several(self) -> Self:
        if not self.expand_to and len({term.casefold() for term in self.terms}) < 2:
            raise PydanticCustomError("one_term", "Must have at least two different terms, or `expand_to`.")
        return self

    def shape(self) -> synonym_lines.SynonymGroup:
        """The group as it is stored, with each term once."""
        return synonym_lines.SynonymGroup(_once(self.terms), _once(self.expand_to or ()))


class Synonyms(field_types.WireModel):
    """A user's groups of synonyms."""

    groups: Annotated[list[SynonymsGroup], *field_types.at_most(synonym_lines.MAX_GROUPS)] = Field(
        description="The groups, which replace all that are stored; an empty list removes them."
    )


class StoredGroup(Response):
    """A stored group."""

    terms: list[str] = Field(description=_TERMS)
    expand_to: list[str] = Field(description=_EXPAND_TO)


class StoredSynonyms(BaseModel):
    """The stored groups."""

    groups: list[StoredGroup] = Field(description="The groups in their order.")


class SynonymCounts(BaseModel):
    """What is stored now."""

    groups: int = Field(description="Number of groups.")
    terms: int = Field(description="Number of words and phrases in them.")


def _once(terms: Sequence[str]) -> tuple[str, ...]:
    """Each term once, in the order of their first occurrences."""
    found: dict[str, str] = {}
    for term in terms:
        found.setdefault(term.casefold(), term)
    return tuple(found.values())


router = bodies.router("search")

_EXAMPLES: dict[str, Any] = {
    "groups": {
        "summary": "Two words and a phrase that mean the same, and a word that stands for two others",
        "value": {
            "groups": [
                {"terms": ["buoy", "float", "drifting sensor"]},
                {"terms": ["building material"], "expand_to": ["mortar", "brick"]},
            ]
        },
    },
    "none": {"summary": "Remove all groups", "value": {"groups": []}},
}


@router.get("/synonyms", summary="Read the synonyms")
async def get_synonyms(user_id: auth.Searcher, use: auth.ReadUse) -> StoredSynonyms:
    """Return the user's groups of synonyms."""
    return StoredSynonyms(groups=[StoredGroup.of(group) for group in await synonyms.get(user_id, db=use.db)])


@router.put("/synonyms", summary="Replace the synonyms", responses=problems.WRITE)
async def set_synonyms(
    body: Annotated[Synonyms, Body(openapi_examples=_EXAMPLES)], user_id: auth.Writer, use: auth.Use
) -> SynonymCounts:
    """Replace all stored groups. The new groups take effect at once; nothing is indexed again.

    If a query contains one of a group's `terms`, its text leg also searches for the others, or for those of
    `expand_to` if it is given, with half the weight.
    """
    groups = [group.shape() for group in body.groups]
    await synonyms.put(user_id, groups, db=use.db)
    return SynonymCounts(groups=len(groups), terms=sum(len(one.terms) + len(one.expand_to) for one in groups))
