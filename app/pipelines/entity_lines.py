"""How do many entities come in at once, line by line?

A line replaces the entity with its id, else the user's own one of its type and name, else it adds one. All lines that
can be stored are stored in one transaction; each of the others is refused with its reason. Members may be named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID, uuid4

from app import errors
from app.pipelines import entities as story
from app.providers.base import Embedder
from app.shapes import Entity, EntityDraft
from app.store import changes, entities, mentions
from app.store.db import Database, Reading, Writing
from app.text import gazetteer


@dataclass(frozen=True, slots=True)
class Line:
    """An entity to add or to replace, by id if it has one; `members` are ids or names."""

    number: int
    draft: EntityDraft
    entity_id: UUID | None = None
    members: tuple[UUID | str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a line, and why it was refused."""

    number: int
    status: Literal["added", "updated", "unchanged", "refused"]
    entity_id: UUID | None = None
    error: errors.StepwellError | None = None


async def run(lines: Sequence[Line], user_id: str, *, db: Database, embedder: Embedder) -> list[Outcome]:
    """Add or replace entities; the outcomes come in the order of the lines.

    Raises what concerns all lines, and then nothing is stored: Unavailable, DatabaseUnavailable.
    """
    async with db.reading(user_id) as reading:
        plan = await _planned(reading, user_id, lines)
    fresh = [step.draft for step in plan.steps.values() if not step.keeps_vector]
    computed = await story.embedded(fresh, embedder)
    async with db.writing(user_id) as writing:
        await mentions.lock(writing, user_id)
        plan = await _planned(writing, user_id, lines)
        await _store(writing, user_id, plan, computed)
    return [plan.outcome(line.number) for line in lines]


@dataclass(frozen=True, slots=True)
class _Step:
    """A line that can be stored: as which entity, and what that was before."""

    line: Line
    entity_id: UUID
    draft: EntityDraft
    names: Mapping[str, str]
    before: Entity | None

    @property
    def status(self) -> Literal["added", "updated", "unchanged"]:
        if self.before is None:
            return "added"
        return "unchanged" if _alike(self.draft, self.names, self.before) else "updated"

    @property
    def keeps_vector(self) -> bool:
        return self.before is not None and story.described(self.draft) == story.described(story.draft_of(self.before))


@dataclass(slots=True)
class _Plan:
    """What is to be done with each line, by its number."""

    steps: dict[int, _Step] = field(default_factory=dict)
    refused: dict[int, errors.StepwellError] = field(default_factory=dict)
    lost: set[UUID] = field(default_factory=set)

    def refuse(self, number: int, error: errors.StepwellError) -> None:
        step = self.steps.pop(number, None)
        if step is not None and step.before is None:
            self.lost.add(step.entity_id)
        self.refused[number] = error

    def outcome(self, number: int) -> Outcome:
        if number in self.refused:
            return Outcome(number, "refused", error=self.refused[number])
        return Outcome(number, self.steps[number].status, self.steps[number].entity_id)


async def _planned(db: Reading, user_id: str, lines: Sequence[Line]) -> _Plan:
    plan = _Plan()
    known: dict[int, dict[str, str]] = {}
    for line in lines:
        try:
            known[line.number] = story.keyed(line.draft)
        except errors.BadRequest as error:
            plan.refuse(line.number, error)
    await _choose(db, user_id, [line for line in lines if line.number in known], known, plan)
    await _find_members(db, user_id, plan)
    return plan


async def _choose(
    db: Reading, user_id: str, lines: Sequence[Line], known: Mapping[int, dict[str, str]], plan: _Plan
) -> None:
    """Which entity does each line mean?"""
    pairs = {line.number: (line.draft.type, next(iter(known[line.number]))) for line in lines}
    own = await entities.own(db, user_id, pairs.values())
    ids = {*own.values(), *(line.entity_id for line in lines if line.entity_id is not None)}
    before = {entity.entity_id: entity for entity in await entities.of_ids(db, user_id, list(ids))}
    taken: set[UUID] = set()
    for line in lines:
        same = own.get(pairs[line.number])
        try:
            entity_id = _meant(line, same, before, taken)
        except errors.StepwellError as error:
            plan.refuse(line.number, error)
            continue
        taken.add(entity_id)
        own[pairs[line.number]] = entity_id
        draft, old = line.draft, before.get(entity_id)
        plan.steps[line.number] = _Step(line, entity_id, draft, known[line.number], old)


def _meant(line: Line, same: UUID | None, before: Mapping[UUID, Entity], taken: set[UUID]) -> UUID:
    """The id of the entity that a line adds or replaces; `same` has its type and name. Raises NotFound, Conflict."""
    if line.entity_id is not None:
        if line.entity_id not in before or before[line.entity_id].origin != "user":
            raise errors.NotFound("No such entity of your own.", field="entity_id")
        if same not in (None, line.entity_id):
            raise errors.Conflict(f"The entity {same} has this type and name.", field="name")
    meant = line.entity_id or same or uuid4()
    if meant in taken:
        raise errors.Conflict("An earlier line means the same entity.", field="name")
    return meant


async def _find_members(db: Reading, user_id: str, plan: _Plan) -> None:
    """Turn the members of every step into ids, and refuse lines whose members are not there."""
    wanted = {member for step in plan.steps.values() for member in step.line.members}
    keys = {name: key for name in wanted if isinstance(name, str) and (key := gazetteer.key(name))}
    named = {key: set(ids) for key, ids in (await entities.named(db, user_id, keys.values())).items()}
    stored = await entities.existing(db, user_id, [member for member in wanted if isinstance(member, UUID)])
    for step in plan.steps.values():
        for key in step.names:
            named.setdefault(key, set()).add(step.entity_id)
    for number, step in list(plan.steps.items()):
        try:
            members = [_member(place, m, keys, named, stored) for place, m in enumerate(step.line.members)]
        except errors.BadRequest as error:
            plan.refuse(number, error)
        else:
            plan.steps[number] = replace(step, draft=replace(step.draft, members=tuple(dict.fromkeys(members))))
    _drop_dependants(plan)


def _member(
    place: int, member: UUID | str, keys: Mapping[str, str], named: Mapping[str, set[UUID]], stored: set[UUID]
) -> UUID:
    field_ = f"members[{place}]"
    if isinstance(member, UUID):
        if member not in stored:
            raise errors.BadRequest(f"There is no entity {member}.", field=field_)
        return member
    found = named.get(keys.get(member, ""), set())
    if len(found) != 1:
        problem = "Several entities have this name: give an id." if found else "No entity has this name."
        raise errors.BadRequest(problem, field=field_)
    return next(iter(found))


def _drop_dependants(plan: _Plan) -> None:
    """Refuse lines with a member that only a refused line would have added, until none is left."""
    while lost := [n for n, step in plan.steps.items() if plan.lost.intersection(step.draft.members)]:
        for number in lost:
            plan.refuse(number, errors.BadRequest("A member stands in a line that was refused.", field="members"))


async def _store(db: Writing, user_id: str, plan: _Plan, computed: Mapping[str, str]) -> None:
    steps = [step for step in plan.steps.values() if step.status != "unchanged"]
    await entities.save(
        db,
        user_id,
        [story.written(s.entity_id, s.draft, s.names, computed, keeps=s.keeps_vector) for s in steps],
    )
    changed: dict[str, str] = {}
    for step in steps:
        before = story.keyed(story.draft_of(step.before)) if step.before else {}
        changed |= story.differing(before, step.names)
    await changes.note(db, user_id, changed)


def _alike(draft: EntityDraft, names: Mapping[str, str], before: Entity) -> bool:
    """Whether storing the draft would change nothing; aliases that have the name's own key do not count."""
    given = replace(draft, aliases=tuple(names.values())[1:], members=tuple(sorted(draft.members)))
    return given == replace(story.draft_of(before), members=tuple(sorted(before.members)))
