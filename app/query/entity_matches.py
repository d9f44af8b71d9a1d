"""How the entities of a query match, and what they contribute to the score of a hit."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from app.enums import MatchedBy, Origin
from app.text.names.name_uses import NameUse


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity matched by a query: score (0 to 1), kind of match, and the key of its name if the query contains it.

    `use` is how the query refers to it, `aboutness` (0 to 1) the probability that the query is about it; None until it
    is computed. `teams` are the names of the entities that contain it, only of namesakes: other entities of the same
    type and name that the query matches too. `fit` (0.5 to 1) is how well the rest of the query fits it, relative to
    the namesake that it fits best; the score is multiplied by it.
    """

    entity_id: UUID
    name: str
    type: str
    origin: Origin
    score: float
    matched_by: MatchedBy
    key: str | None = None
    use: NameUse = field(default_factory=lambda: NameUse("topic"))
    aboutness: float | None = None
    role: str | None = None
    teams: tuple[str, ...] = ()
    fit: float = 1.0


@dataclass(frozen=True, slots=True)
class Link:
    """A document linked to entities of the query: the best of them, the score of the link (0 to 1) and its strength."""

    document_id: UUID
    entity_id: UUID
    score: float
    strength: float


@dataclass(frozen=True, slots=True)
class HitGuidance:
    """The contribution of an entity to the score of a hit: `final = (1 − weight) · doc_score + weight · score`."""

    entity_id: UUID | None
    score: float
    strength: float
    doc_score: float


@dataclass(frozen=True, slots=True)
class Boost:
    """The boost of a hit that mentions entities of the query: the mentions, and the ranks gained."""

    mentions: int
    moved: int
