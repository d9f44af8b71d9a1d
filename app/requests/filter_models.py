"""Defines the filters of a search request: values and operators of metadata, and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, model_validator
from pydantic_core import PydanticCustomError, core_schema

from app import limits
from app.database import foreign_filter_operators
from app.database.filter_types import BOUNDS, OPERANDS, OPERATORS, Filters, is_operator_object
from app.requests import field_types
from app.text import iso_dates

MAX_GROUP_DEPTH = 4
MAX_GROUPED_VALUES = 200
"""Ids, metadata values and times in all groups; each is compared with the documents that no index excludes."""

MAX_FILE_TYPES = 50

_GROUPS = ("any", "all", "not")


KNOWN = ", ".join(OPERATORS)
IN_SEARCHES = "Values of metadata by key, or operators, as in search_documents."


def _condition(given: Any) -> Any:
    """The value of a metadata filter, checked. Raises PydanticCustomError."""
    if not is_operator_object(given):
        if _has_operator(given):
            raise PydanticCustomError(
                "nested_operator", "Operators apply to a key of the metadata, not inside a list or another object."
            )
        return given
    if not given.keys() <= set(OPERATORS):
        advised = next((advice for key in given if (advice := foreign_filter_operators.advice(key)) is not None), None)
        raise PydanticCustomError(
            "unknown_operator",
            f"Has an unknown operator: the operators are {KNOWN}, without $ and without other keys beside them. "
            + (f"For this one, {advised}." if advised else "Groups are filters.any, filters.all and filters.not."),
        )
    for operator, operand in given.items():
        _check_operand(operator, operand)
    if len({isinstance(given[operator], str) for operator in given.keys() & set(BOUNDS)}) > 1:
        raise PydanticCustomError("invalid_range", "The bounds of a range must be all numbers or all dates and times.")
    return given


def _has_operator(given: Any) -> bool:
    if isinstance(given, Mapping):
        return is_operator_object(given) or any(map(_has_operator, given.values()))
    return isinstance(given, list) and any(map(_has_operator, given))


def _check_operand(operator: str, operand: Any) -> None:
    """Raises PydanticCustomError unless an operator takes this; a bound is a number, or a date or time of ISO 8601."""
    if operator not in BOUNDS:
        if not OPERANDS[operator].accepts(operand):
            raise PydanticCustomError("invalid_operand", f"{operator} takes {OPERANDS[operator].takes}.")
        return
    is_number = isinstance(operand, int | float) and not isinstance(operand, bool)
    is_moment = isinstance(operand, str) and iso_dates.microseconds(operand) is not None
    if not is_number and not is_moment:
        raise PydanticCustomError(
            "invalid_range",
            "The bounds of a range must be numbers, or dates and times such as 2026-01-31 or 2026-01-31T12:00:00Z.",
        )


def _check_metadata(given: object) -> object:
    # Runs before the values are checked, since each of them may be an error.
    if not isinstance(given, dict):
        return given
    checked = field_types.check_metadata(given)
    for key, value in checked.items():
        if foreign_filter_operators.is_group(key, value) and _has_operator(value):
            advised = foreign_filter_operators.advice(key)
            raise PydanticCustomError("nested_operator", f"Operators apply to a key of the metadata: {advised}.")
    return checked


MetadataFilter = Annotated[
    dict[str, Annotated[Any, AfterValidator(_condition)]],
    BeforeValidator(_check_metadata),
]
"""Values by key, as the filters of searches take them."""


def _not_empty(group: SearchFilters) -> SearchFilters:
    if not group.shape():
        raise PydanticCustomError("empty_filter", "Must have at least one condition.")
    return group


_Group = Annotated["SearchFilters", AfterValidator(_not_empty)]
UriPart = Annotated[str, Field(min_length=1, max_length=limits.MAX_URI)]
_FileType = Annotated[
    str, Field(pattern=r"^\.?[A-Za-z0-9_+-]{1,20}$"), AfterValidator(lambda one: one.lstrip(".").lower())
]
_FileTypes = Annotated[list[_FileType], *field_types.at_most(MAX_FILE_TYPES, at_least=1)]
SourceName = Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)]
SourceNames = Annotated[list[SourceName], *field_types.at_most(field_types.MAX_IDS)]
_Groups = Annotated[list[_Group], *field_types.at_most(MAX_GROUPED_VALUES, at_least=1)]


class SearchFilters(field_types.WireModel):
    """Restricts a search to some documents; a document must meet all given conditions."""

    document_ids: field_types.IdList | None = Field(None, description="Only these documents.")
    source_ids: field_types.IdList | None = Field(None, description="Only documents from these sources.")
    source_names: SourceNames | None = Field(
        None, description="Only documents from sources with these names, in any case."
    )
    metadata: MetadataFilter | None = Field(
        None,
        description="Values of the document's metadata by key. A string, number, boolean or null must be the value, or "
        f"an element of it if it is a list; an object with operators ({KNOWN}) must be met; any other "
        "object or list must be contained.",
        examples=[{"team": "tide", "year": {"gte": 2024}, "status": {"ne": "draft"}}],
    )
    created_after: field_types.Moment | None = Field(None, description="Only documents created at this time or later.")
    created_before: field_types.Moment | None = Field(None, description="Only documents created before this time.")
    uri_prefix: UriPart | None = Field(
        None,
        description="Only documents whose URI begins so; of files, a path or a URI.",
        examples=["https://wiki.example/"],
    )
    folder: UriPart | None = Field(
        None, description="Only documents in this folder, at any depth; a path or a URI.", examples=["/srv/notes/2026"]
    )
    file_types: _FileTypes | None = Field(
        None,
        description="Only documents from files with one of these suffixes, such as pdf.",
        examples=[["pdf", "docx"]],
    )
    any_of: _Groups | None = Field(None, alias="any", description="Only documents that pass one of these filters.")
    all_of: _Groups | None = Field(None, alias="all", description="Only documents that pass each of these filters.")
    negated: _Group | None = Field(None, alias="not", description="Only documents that do not pass these filters.")

    @model_validator(mode="before")
    @classmethod
    def _limit_groups(cls, given: object) -> object:
        # Before the groups, because validation follows them as deep as they are nested.
        if isinstance(given, dict) and any(given.get(name) for name in _GROUPS):
            if _depth(given) > MAX_GROUP_DEPTH:
                raise PydanticCustomError("too_deep", f"Groups must be nested at most {MAX_GROUP_DEPTH} levels deep.")
            if _leaves([given[name] for name in _GROUPS if given.get(name)]) > MAX_GROUPED_VALUES:
                raise PydanticCustomError("too_many_values", f"Groups must have at most {MAX_GROUPED_VALUES} values.")
        return given

    def shape(self) -> Filters:
        """The filters as a core type."""
        return Filters(**{name: _shape(value) for name, value in self if value != {}})


def _shape(value: Any) -> Any:
    if isinstance(value, SearchFilters):
        return value.shape()
    return tuple(map(_shape, value)) if isinstance(value, list) else value


def _depth(given: object) -> int:
    """How deep groups are nested; counting stops one level below the limit."""
    depth, level = 0, [given]
    while depth <= MAX_GROUP_DEPTH:
        groups = [each[name] for each in level if isinstance(each, dict) for name in _GROUPS if each.get(name)]
        level = [member for group in groups for member in (group if isinstance(group, list) else [group])]
        if not level:
            break
        depth += 1
    return depth


def _leaves(value: object) -> int:
    """The number of values in JSON. An empty object or list counts as one."""
    count, remaining = 0, [value]
    while remaining:
        each = remaining.pop()
        inner = list(each.values()) if isinstance(each, dict) else each if isinstance(each, list) else []
        count += not inner
        remaining += inner
    return count


class _ReadAsFilters:
    """Reads JSON as `SearchFilters` and makes `Filters` of it. `Filters` are taken as they are."""

    model = SearchFilters

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def make(given: Any, read: Callable[[Any], SearchFilters]) -> Filters:
            return given if isinstance(given, Filters) else read(given).shape()

        return core_schema.no_info_wrap_validator_function(make, handler.generate_schema(SearchFilters))


FILTERS = "Conditions on the documents searched."
RequestFilters = Annotated[Filters, _ReadAsFilters()]
"""The filters of a request."""
