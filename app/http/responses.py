"""Builds and serialises JSON answers, and defines the base of their models, which read core types by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

import fastapi
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_core import to_json

from app.concurrency import offload
from app.query.search_types import Answer
from app.text import uris

SCORE_DIGITS = 4
"""Decimals of a score."""


class Response(BaseModel):
    """A response whose fields are the attributes of a core type, or of another object.

    A field has the name of the attribute that it shows. If the attribute has another name, or is inside another
    attribute, `validation_alias` says where it is; this alias is not part of the contract.
    """

    model_config = ConfigDict(from_attributes=True, validate_by_name=True, validate_by_alias=True)

    @classmethod
    def of(cls, shape: Any, **more: Any) -> Self:
        """The response model of a core type; fields in `more` have those values instead."""
        return cls.model_validate(_With(shape, more) if more else shape)


class _With:
    """An object with some other attributes."""

    def __init__(self, shape: Any, more: Mapping[str, Any]) -> None:
        self._shape = shape
        vars(self).update(more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shape, name)


def is_none(value: object) -> bool:
    """Whether the value is None; such a field can be left out of every response."""
    return value is None


def is_empty(value: object) -> bool:
    """Whether a list is empty; such a field can be left out of every response."""
    return not value


RoundedScore = Annotated[float, AfterValidator(lambda score: round(score, SCORE_DIGITS))]
"""A score rounded to `SCORE_DIGITS` decimals."""

ShownUri = Annotated[str, AfterValidator(uris.show)]
"""A document's URI as people write it; for a file, its path. Whatever takes a URI accepts this form too."""

NoneIfEmpty = BeforeValidator(lambda value: value or None)
"""Reads an empty list or object as null."""

HIT_COST = 400
"""Cost of building and serialising a hit, in units of `offload.run`."""


def cost_of(answer: Answer) -> int:
    """The cost of building and serialising an answer, in units of `offload.run`."""
    return HIT_COST * sum(1 + len(hit.more) for hit in answer.hits)


async def json(size: int, build: Callable[[], BaseModel | Mapping[str, Any]], *, status: int = 200) -> fastapi.Response:
    """What `build` returns as a response; `size` is about its length in characters."""
    content = await offload.run(size, lambda: to_json(build()))
    return fastapi.Response(content, status, media_type="application/json")
