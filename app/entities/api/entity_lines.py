"""Reads entities from JSON lines, and describes the outcome of each line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from app import errors
from app.entities.api.entity_models import EntityLine, UpsertLineResult, UpsertResult
from app.entities.entity_lines import MAX_LINES, Line, LineResult
from app.requests import strict_json, validation_errors


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that can be read, and the outcomes of the others."""

    sound: list[Line]
    refused: list[UpsertLineResult]

    def answer(self, outcomes: list[LineResult]) -> UpsertResult:
        """The outcomes of all lines, in their order."""
        return UpsertResult.of(sorted([*self.refused, *map(_outcome, outcomes)], key=lambda outcome: outcome.line))


def read(raw: bytes) -> Lines:
    """Read lines of JSON (UTF-8), each as strictly as a body of its own; empty lines are skipped.

    Raises BadRequest where there are more than MAX_LINES.
    """
    sound: list[Line] = []
    refused: list[UpsertLineResult] = []
    for number, line in _lines(raw):
        try:
            sound.append(EntityLine.model_validate(strict_json.parse(line)).shape(number))
        except RequestValidationError as error:
            refused.append(_refused(number, validation_errors.read(error.errors())))
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            refused.append(_refused(number, validation_errors.read({**e, "loc": ("body", *e["loc"])} for e in found)))
        except errors.BadRequest as error:
            refused.append(_refused(number, [validation_errors.FieldError("line", error.message, error.code)]))
    return Lines(sound, refused)


def _lines(raw: bytes) -> Iterator[tuple[int, bytes]]:
    if raw.count(b"\n") > MAX_LINES:
        raise errors.BadRequest(f"Send at most {MAX_LINES:,} lines at once.", field="body")
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip(b" \t\r\xef\xbb\xbf"):
            yield number, line


def _refused(number: int, found: list[validation_errors.FieldError]) -> UpsertLineResult:
    fault = found[0] if found else validation_errors.FieldError("line", "Cannot be used.", errors.BadRequest.code)
    return UpsertLineResult(
        line=number, status="refused", entity_id=None, field=fault.field, code=fault.code, detail=fault.message
    )


def _outcome(outcome: LineResult) -> UpsertLineResult:
    error = outcome.error
    return UpsertLineResult(
        line=outcome.number,
        status=outcome.status,
        entity_id=outcome.entity_id,
        field=error.field if error else None,
        code=error.code if error else None,
        detail=error.message if error else None,
    )
