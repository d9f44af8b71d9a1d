"""Adds or replaces many entities, given one a line.

A line replaces the entity with its id, else the user's own entity of its type and name, else it adds one. All lines
that can be stored are stored in one transaction; each of the others is refused with its reason. Members are given by id
or by name. Planning takes time linear in the size of the lines, and runs outside the event loop where they are many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID, uuid4

from app import errors
from app.pipelines import entities as story
from app.pipelines import offload
from app.providers.base import Embedder
from app.shapes import Entity, EntityDraft
from app.store import entities, mentions, name_changes
from app.store.db import Database, Reading
from app.store.entities import EntityRecord
from app.text import gazetteer

MOST_LINES = 10_000
"""Lines of one request."""


@dataclass(frozen=True, slots=True)
class Line:
    """An entity to add or to replace, by id if it has one; `members` are ids or names."""

    number: int
    draft: EntityDraft
    entity_id: UUID | None = None
    members: tuple[UUID | str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineResult:
    """What became of a line, and why it was refused."""

    number: int
    status: Literal["added", "updated", "unchanged", "refused"]
    entity_id: UUID | None = None
    error: errors.StepwellError | None = None


async def run(lines: Sequence[Line], user_id: str, *, db: Database, embedder: Embedder) -> list[LineResult]:
    """Add or replace entities; the outcomes are in the order of the lines.

    Raises what concerns all lines, and then nothing is stored: BadRequest where there are more than MOST_LINES,
    Unavailable, DatabaseUnavailable.
    """
    if len(lines) > MOST_LINES:
        raise errors.BadRequest(f"Send at most {MOST_LINES:,} lines at once, in several requests.", field="body")
    size = story.work_size(line.draft for line in lines)
    keyed = await offload.run(size, _keyed, lines)
    async with db.reading(user_id) as reading:
        plan = await _planned(reading, user_id, lines, keyed)
    fresh = await offload.run(size, _without_vector, plan)
    computed = await story.description_vectors(fresh, embedder)
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        plan = await _planned(writing, user_id, lines, keyed)
        new, changed = await offload.run(size, _changes, plan, computed)
        await entities.save(writing, user_id, new)
        await name_changes.record(writing, user_id, changed)
    return await offload.run(size, _outcomes, plan, lines)


@dataclass(frozen=True, slots=True)
class _Keyed:
    """The keys of the names of each line by line number, the name's own first, and why the other lines are refused."""

    names: Mapping[int, Mapping[str, str]]
    refused: Mapping[int, errors.StepwellError]

    def pair(self, line: Line) -> tuple[str, str]:
        """The type and the key of the name, by which an entity is unique."""
        return line.draft.type, next(iter(self.names[line.number]))


@dataclass(frozen=True, slots=True)
class _Step:
    """A line that can be stored: the id of its entity, and the stored version that it replaces."""

    line: Line
    entity_id: UUID
    draft: EntityDraft
    names: Mapping[str, str]
    before: Entity | None

    @property
    def status(self) -> Literal["added", "updated", "unchanged"]:
        if self.before is None:
            return "added"
        return "unchanged" if _is_same(self.draft, self.names, self.before) else "updated"

    @property
    def keeps_vector(self) -> bool:
        return self.before is not None and story.description_text(self.draft) == story.description_text(
            story.draft_of(self.before)
        )


@dataclass(slots=True)
class _Plan:
    """The step or the error of each line, by its number; `lost` are ids that only refused lines would have added."""

    steps: dict[int, _Step] = field(default_factory=dict)
    refused: dict[int, errors.StepwellError] = field(default_factory=dict)
    lost: set[UUID] = field(default_factory=set)

    def refuse(self, number: int, error: errors.StepwellError) -> UUID | None:
        """Refuse a line; returns the id of the entity that is not added because of that."""
        step = self.steps.pop(number, None)
        self.refused[number] = error
        if step is None or step.before is not None:
            return None
        self.lost.add(step.entity_id)
        return step.entity_id

    def outcome(self, number: int) -> LineResult:
        if number in self.refused:
            return LineResult(number, "refused", error=self.refused[number])
        return LineResult(number, self.steps[number].status, self.steps[number].entity_id)


@dataclass(frozen=True, slots=True)
class _Members:
    """The members that lines name: names by key, the entities with each key, and the ids that exist."""

    keys: Mapping[str, str]
    named: Mapping[str, Sequence[UUID]]
    stored: set[UUID]


def _keyed(lines: Sequence[Line]) -> _Keyed:
    names: dict[int, Mapping[str, str]] = {}
    refused: dict[int, errors.StepwellError] = {}
    for line in lines:
        try:
            names[line.number] = story.name_keys(line.draft)
        except errors.BadRequest as error:
            refused[line.number] = error
    return _Keyed(names, refused)


async def _planned(db: Reading, user_id: str, lines: Sequence[Line], keyed: _Keyed) -> _Plan:
    size = story.work_size(line.draft for line in lines)
    sound = [line for line in lines if line.number in keyed.names]
    own = await entities.own(db, user_id, [keyed.pair(line) for line in sound])
    ids = {*own.values(), *(line.entity_id for line in sound if line.entity_id is not None)}
    before = {entity.entity_id: entity for entity in await entities.of_ids(db, user_id, list(ids))}
    plan = await offload.run(size, _chosen, sound, keyed, own, before)
    wanted = {member for step in plan.steps.values() for member in step.line.members}
    keys = await offload.run(size, _member_keys, wanted)
    named = await entities.named(db, user_id, keys.values())
    stored = await entities.existing(db, user_id, [member for member in wanted if isinstance(member, UUID)])
    await offload.run(size, _find_members, plan, _Members(keys, named, stored))
    return plan


def _chosen(
    lines: Sequence[Line], keyed: _Keyed, own: Mapping[tuple[str, str], UUID], before: Mapping[UUID, Entity]
) -> _Plan:
    """A plan in which each line is matched with the entity that it adds or replaces."""
    plan = _Plan(refused=dict(keyed.refused))
    by_pair = dict(own)
    taken: set[UUID] = set()
    for line in lines:
        pair = keyed.pair(line)
        try:
            entity_id = _matched(line, by_pair.get(pair), before, taken)
        except errors.StepwellError as error:
            plan.refuse(line.number, error)
            continue
        taken.add(entity_id)
        by_pair[pair] = entity_id
        plan.steps[line.number] = _Step(line, entity_id, line.draft, keyed.names[line.number], before.get(entity_id))
    return plan


def _matched(line: Line, same: UUID | None, before: Mapping[UUID, Entity], taken: set[UUID]) -> UUID:
    """The id of the entity that a line adds or replaces; `same` has its type and name. Raises NotFound, Conflict."""
    if line.entity_id is not None:
        if line.entity_id not in before or before[line.entity_id].origin != "user":
            raise errors.NotFound("No such entity of your own.", field="entity_id")
        if same not in (None, line.entity_id):
            raise errors.Conflict(f"The entity {same} has this type and name.", field="name")
    found = line.entity_id or same or uuid4()
    if found in taken:
        raise errors.Conflict("An earlier line means the same entity.", field="name")
    return found


def _member_keys(members: set[UUID | str]) -> dict[str, str]:
    return {name: key for name in members if isinstance(name, str) and (key := gazetteer.key(name))}


def _find_members(plan: _Plan, known: _Members) -> None:
    """Replace the members of every step by ids, and refuse lines whose members do not exist."""
    named = {key: set(ids) for key, ids in known.named.items()}
    for step in plan.steps.values():
        for key in step.names:
            named.setdefault(key, set()).add(step.entity_id)
    for number, step in list(plan.steps.items()):
        try:
            members = [_member(place, m, known, named) for place, m in enumerate(step.line.members)]
        except errors.BadRequest as error:
            plan.refuse(number, error)
        else:
            plan.steps[number] = replace(step, draft=replace(step.draft, members=tuple(dict.fromkeys(members))))
    _refuse_dependants(plan)


def _member(place: int, member: UUID | str, known: _Members, named: Mapping[str, set[UUID]]) -> UUID:
    field_ = f"members[{place}]"
    if isinstance(member, UUID):
        if member not in known.stored:
            raise errors.BadRequest(f"There is no entity {member}.", field=field_)
        return member
    found = named.get(known.keys.get(member, ""), set())
    if len(found) != 1:
        problem = "Several entities have this name: give an id." if found else "No entity has this name."
        raise errors.BadRequest(problem, field=field_)
    return next(iter(found))


def _refuse_dependants(plan: _Plan) -> None:
    """Refuse lines with a member that only a refused line would have added, and the lines that contain those."""
    containers: dict[UUID, list[int]] = {}
    for number, step in plan.steps.items():
        for member in step.draft.members:
            containers.setdefault(member, []).append(number)
    waiting = list(plan.lost)
    while waiting:
        for number in containers.get(waiting.pop(), ()):
            if number in plan.steps:
                error = errors.BadRequest("A member is only in a line that was refused.", field="members")
                if (lost := plan.refuse(number, error)) is not None:
                    waiting.append(lost)


def _without_vector(plan: _Plan) -> list[EntityDraft]:
    """The drafts whose description is not embedded yet."""
    return [step.draft for step in plan.steps.values() if not step.keeps_vector]


def _changes(plan: _Plan, computed: Mapping[str, str]) -> tuple[list[EntityRecord], dict[str, str]]:
    """The entities to store, and the names that change by that."""
    steps = [step for step in plan.steps.values() if step.status != "unchanged"]
    changed: dict[str, str] = {}
    for step in steps:
        before = story.name_keys(story.draft_of(step.before)) if step.before else {}
        changed |= story.changed_names(before, step.names)
    new = [story.record_of(s.entity_id, s.draft, s.names, computed, keeps=s.keeps_vector) for s in steps]
    return new, changed


def _outcomes(plan: _Plan, lines: Sequence[Line]) -> list[LineResult]:
    return [plan.outcome(line.number) for line in lines]


def _is_same(draft: EntityDraft, names: Mapping[str, str], before: Entity) -> bool:
    """Whether storing the draft would change nothing; aliases that have the name's own key do not count."""
    given = replace(draft, aliases=tuple(names.values())[1:], members=tuple(sorted(draft.members)))
    return given == replace(story.draft_of(before), members=tuple(sorted(before.members)))
