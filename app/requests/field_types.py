"""Defines the base model and the field types that requests and the arguments of tools share.

Numbers are strict individually (`"5"`, `5.0` for an integer and `true` are rejected), because pydantic's strict mode
would reject UUIDs and dates too: FastAPI hands it Python objects, in which those are still strings. `Int`, `Number`
and `Flag` are for JSON bodies; in a URL every value is a string, so query parameters take plain `int` and `float`.

Messages do not contain input; custom codes are the `code` of field errors.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, ClassVar, NoReturn, Self, TypeVar, get_args
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from app import errors, limits
from app.requests import field_suggestions
from app.text import iso_dates
from app.text.queries import query_parsing
from app.text.structure import metadata_json
from app.text.words import cleaning

T = TypeVar("T")
MAX_IDS = 1_000
MAX_QUERY_AS_SENT = 8_000
MAX_USER = 200
_LIMITS = {
    "too_deep": f"Must be nested at most {metadata_json.MAX_DEPTH} levels deep.",
    "too_many_keys": f"Must have at most {metadata_json.MAX_KEYS:,} keys on all levels.",
    "too_large": f"Must take at most {metadata_json.MAX_BYTES // 1024} KB as JSON.",
}
MAX_DIMENSIONS = 16_000
_MAX_FIELDS = 100


def check_user(user_id: str) -> None:
    """Raises BadRequest if the name of a user is blank, too long or not printable."""
    if not user_id.strip() or len(user_id) > MAX_USER or not user_id.isprintable():
        raise errors.BadRequest(f"A user is 1 to {MAX_USER} printable characters.", field="user")


class WireModel(BaseModel):
    """Base of every request model. Unknown fields are rejected. Null in a field with a default means the default."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    null_is_default: ClassVar[bool] = True
    """False in models of changes, where null removes a value."""
    body_may_be_list: ClassVar[bool] = False
    """True in models of a body that may also be a list of such objects."""
    moved: ClassVar[Mapping[str, str]] = {}
    """What to send instead of fields that were here before."""

    @model_validator(mode="wrap")
    @classmethod
    def _known_fields(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        if not given or not isinstance(given, dict):
            return validate(given)
        # Each unknown field is an error of its own: a million fields would be a million errors.
        if len(given) > _MAX_FIELDS:
            raise PydanticCustomError("too_many_fields", "Has far more fields than the schema allows: see /docs.")
        given = cls.expanded(given)
        known = _required(cls)
        if cls.null_is_default and None in given.values():
            given = {name: value for name, value in given.items() if value is not None or known.get(name, True)}
        return validate(given) if given.keys() <= known.keys() else _reject(cls, given, validate)

    @classmethod
    def expanded(cls, given: dict[str, Any]) -> dict[str, Any]:
        """The fields as sent, with fields in a short form moved to their full place. Subclasses override it."""
        return given


@cache
def _required(model: type[WireModel]) -> dict[str, bool]:
    """The names of a model's fields as they are sent, and whether each is required."""
    return {field.alias or name: field.is_required() for name, field in model.model_fields.items()}


@cache
def _paths(model: type[WireModel]) -> dict[str, str]:
    """The paths of a model's fields and of the fields of objects in it, by name; the outer ones count."""
    found = {name: name for name in _required(model)}
    for outer, field in model.model_fields.items():
        models = (getattr(one, "model", None) for one in field.metadata)
        for inner in (field.annotation, *get_args(field.annotation), *models):
            if isinstance(inner, type) and issubclass(inner, WireModel) and inner is not model:
                for name, path in _paths(inner).items():
                    found.setdefault(name, f"{field.alias or outer}.{path}")
    return found


def _reject(model: type[WireModel], given: dict[str, Any], validate: ModelWrapValidatorHandler[Any]) -> NoReturn:
    """Raises ValidationError for the unknown fields, after the errors of the others."""
    unknown = [name for name in given if name not in _required(model)]
    lines: list[InitErrorDetails] = []
    try:
        validate({name: value for name, value in given.items() if name not in unknown})
    except ValidationError as error:
        for raised in error.errors(include_url=False, include_input=False):
            # Raised as pydantic's own, it would have to have the context that pydantic requires for its code.
            again = PydanticCustomError(raised["type"], raised["msg"], raised.get("ctx", {}))
            lines.append(InitErrorDetails(type=again, loc=raised["loc"], input=None))
    lines += [InitErrorDetails(type=_unknown(model, name, given[name]), loc=(name,), input=None) for name in unknown]
    raise ValidationError.from_exception_data(model.__name__, lines, hide_input=True)


def _unknown(model: type[WireModel], name: str, value: object) -> PydanticCustomError:
    required = [field for field, is_required in _required(model).items() if is_required]
    if model.body_may_be_list and field_suggestions.are_objects_with(required, value):
        return PydanticCustomError("extra_forbidden", "Unknown field.", {"remark": "Send its list itself as the body."})
    if (remark := model.moved.get(name)) is not None:
        return PydanticCustomError("moved_field", "{remark}", {"remark": remark})
    own = {field: field for field in _required(model)}
    advice = field_suggestions.advice(name, own) or field_suggestions.advice(name, _paths(model))
    return PydanticCustomError("extra_forbidden", "Unknown field.", advice)


def field_error(model: type[WireModel], path: tuple[str, ...], code: str, message: str) -> ValidationError:
    """The error of a field that is missing or not allowed because of the other fields."""
    error = PydanticCustomError(code, "{message}", {"message": message})
    line = InitErrorDetails(type=error, loc=path, input=None)
    return ValidationError.from_exception_data(model.__name__, [line], hide_input=True)


def at_most(items: int, *, at_least: int = 0) -> tuple[Any, ...]:
    """The annotations of a list of `at_least` to `items`: `Annotated[list[X], *at_most(50)]`.

    The length is checked before the items, and validation stops at the first invalid item.
    """

    def check(given: object) -> object:
        if isinstance(given, list) and len(given) > items:
            raise PydanticCustomError("too_long", "Must have at most {max_length} items.", {"max_length": items})
        return given

    return Field(fail_fast=True, min_length=at_least or None, max_length=items), BeforeValidator(check)


def _not_null(value: object) -> object:
    if value is None:
        raise PydanticCustomError("not_null", "Must not be null: leave it out to keep its value.")
    return value


def _check_vector(vector: list[float]) -> list[float]:
    if not any(vector):
        raise PydanticCustomError("invalid_vector", "Must not be all zeros: it has no direction.")
    return vector


def expect_dimension(vector: Sequence[float], dimension: int) -> None:
    """Raises `invalid_vector`, naming both lengths, unless the vector is as long as the stored ones."""
    if len(vector) != dimension:
        raise errors.BadRequest(
            f"Must have {dimension} numbers; this one has {len(vector)}.", field="vector", code="invalid_vector"
        )


def expect_metadata(metadata: dict[str, Any]) -> None:
    """Raises BadRequest unless metadata is within the limits of `Metadata`."""
    try:
        check_metadata(metadata)
    except PydanticCustomError as error:
        raise errors.BadRequest(error.message(), field="metadata") from error


def check_length(text: str, most: int) -> str:
    """Returns a query unchanged. Raises PydanticCustomError if its `query_parsing.length` is more than `most`."""
    if len(text) > most:
        raise PydanticCustomError("string_too_long", "Must have at most {max_length} characters.", {"max_length": most})
    if query_parsing.length(text) > most:
        message = "Must have at most {max_length} characters, with its ligatures written out."
        raise PydanticCustomError("string_too_long", message, {"max_length": most})
    return text


def _query(given: str) -> str:
    if len(given) <= MAX_QUERY_AS_SENT:
        asked = query_parsing.end_of_chat(query_parsing.without_json(given))
        asked = query_parsing.body_of_letter(query_parsing.without_frames(asked))
        given = unicodedata.normalize("NFC", query_parsing.without_courtesies(asked)).strip()
    check_length(given, limits.MAX_QUERY)
    if cleaning.is_blank(given):
        raise PydanticCustomError(
            "blank_query", errors.BadRequest(errors.BLANK_QUERY, field="query", code="blank_query").message
        )
    return given


def _moment(given: object) -> object:
    # Otherwise pydantic parses 5 and "5" as seconds since 1970.
    if isinstance(given, datetime):
        return given
    try:
        if isinstance(given, str) and (read := iso_dates.parse_moment(given)) is not None:
            return read
    except OverflowError as error:
        raise PydanticCustomError("datetime_parsing", "Must lie between the years 1 and 9999 in UTC.") from error
    raise PydanticCustomError("datetime_parsing", "Must be a date and time in ISO 8601 such as 2026-01-31T12:00:00Z.")


def check_metadata(given: dict[str, Any]) -> dict[str, Any]:
    """The metadata as it will be read back, within the limits of `Metadata`. Raises PydanticCustomError."""
    try:
        return metadata_json.check(given)
    except metadata_json.TooLargeError as error:
        raise PydanticCustomError(error.code, _LIMITS[error.code]) from error


NotNull = Annotated[T | SkipJsonSchema[None], BeforeValidator(_not_null)]
"""A field that may be left out and must not be null."""

Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A date, or a date and time, in ISO 8601; without an offset it is UTC."""

NameLike = Annotated[str, AfterValidator(partial(check_length, most=limits.MAX_ENTITY_NAME))]
"""A text to which names are compared, of at most 200 characters."""

QueryText = Annotated[
    str,
    AfterValidator(_query),
    Field(
        json_schema_extra={"maxLength": limits.MAX_QUERY, "minLength": 1},
        description=f"Text to search for: 1 to {limits.MAX_QUERY:,} characters, at least one of them visible.",
    ),
]
"""The query in NFC, without surrounding white space, JSON or a letter around it, frames of a stack trace and
courtesies. It has at most 8,000 characters as sent and 2,000 afterwards, also with ligatures written out (NFKC). A
blank query is a 400."""

Metadata = Annotated[dict[str, Any], AfterValidator(check_metadata)]
"""A JSON object of at most 64 KB, 32 levels and 1,000 keys."""

Int = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

IdList = Annotated[list[UUID], *at_most(MAX_IDS)]
"""At most 1,000 UUIDs."""

Vector = Annotated[list[Number], *at_most(MAX_DIMENSIONS, at_least=1), AfterValidator(_check_vector)]
"""Finite numbers, not all zero; `expect_dimension` checks the length."""
