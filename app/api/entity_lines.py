"""What do lines of JSON say about entities, and which of them cannot be read?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from app import errors
from app.api import bodies, faults
from app.api.entity_models import EntityLine, LineOutcome
from app.pipelines.entity_lines import Line, Outcome


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that can be read, and the others with what is wrong with them."""

    sound: list[Line]
    refused: list[LineOutcome]

    def told(self, outcomes: list[Outcome]) -> list[LineOutcome]:
        """What became of all lines, in their order."""
        return sorted([*self.refused, *map(_told, outcomes)], key=lambda outcome: outcome.line)


def read(raw: bytes) -> Lines:
    """Read lines of JSON (UTF-8); empty ones are skipped. Every line is read as strictly as a body of its own."""
    read_: list[Line] = []
    refused: list[LineOutcome] = []
    for number, line in _lines(raw):
        try:
            read_.append(EntityLine.model_validate(bodies.parse(line)).shape(number))
        except RequestValidationError as error:
            refused.append(_refused(number, faults.read(error.errors())))
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            refused.append(_refused(number, faults.read({**e, "loc": ("body", *e["loc"])} for e in found)))
        except errors.BadRequest as error:
            refused.append(_refused(number, [faults.Fault("line", error.message, error.code)]))
    return Lines(read_, refused)


def _lines(raw: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip(b" \t\r\xef\xbb\xbf"):
            yield number, line


def _refused(number: int, found: list[faults.Fault]) -> LineOutcome:
    fault = found[0] if found else faults.Fault("line", "Cannot be used.", errors.BadRequest.code)
    return LineOutcome(
        line=number, status="refused", entity_id=None, field=fault.field, code=fault.code, detail=fault.message
    )


def _told(outcome: Outcome) -> LineOutcome:
    error = outcome.error
    return LineOutcome(
        line=outcome.number,
        status=outcome.status,
        entity_id=outcome.entity_id,
        field=error.field if error else None,
        code=error.code if error else None,
        detail=error.message if error else None,
    )
