"""Adds or replaces many entities, one per line of a request.

A line with an id replaces the entity with that id or adds one, even if others have its type and name. A line without an
id replaces the user's entity with its type and name, or adds one. If there are several, it replaces the one whose id is
derived from type and name. The lines take effect one by one, and no two may add or replace the same entity. All valid
lines are stored in one transaction; every other line is rejected with an error. Members are given by id or by name.
Planning is linear in the size of the lines; large requests are planned outside the event loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Self
from uuid import UUID, uuid4

from app import errors
from app.concurrency import offload
from app.database.transactions import Database, Reading, Writing
from app.entities import entity_records
from app.entities.store import entities, mentions, name_changes
from app.entities.store.mentions import LinkedNames
from app.entities.types import Entity, EntityDraft
from app.enums import EntityStatus
from app.models.protocols import Embedder
from app.query import model_replacement
from app.text.names import gazetteer
from app.text.names.names import Name

EXTRACTED_ID = "This is the id of an entity that is found in documents: choose another one, such as a random UUID."
NAMESAKES = "Namesakes need an `entity_id` each: any UUID of your own, or that of a stored entity."


@dataclass(frozen=True, slots=True)
class Line:
    """An entity to add or to replace, with an id if the caller chose one. Its members are ids or names.

    `names` has its names by key, the main name first.
    """

    number: int
    draft: EntityDraft
    names: Mapping[str, str]
    entity_id: UUID | None

    @classmethod
    def of(cls, number: int, draft: EntityDraft, entity_id: UUID | None = None) -> Self:
        """The line of a draft. Raises BadRequest with the field."""
        return cls(number, draft, entity_records.name_keys(draft), entity_id)

    @property
    def pair(self) -> tuple[str, str]:
        """The type and the key of the name. They find an entity without an id."""
        return self.draft.type, next(iter(self.names))


@dataclass(frozen=True, slots=True)
class LineResult:
    """The result of a line; `error` is the reason if it was refused."""

    number: int
    status: EntityStatus
    entity_id: UUID | None = None
    error: errors.StepwellError | None = None


async def run(lines: Sequence[Line], user_id: str, *, db: Database, embedder: Embedder) -> list[LineResult]:
    """Add or replace entities. The results are in the order of the lines.

    Raises Unavailable, DatabaseUnavailable, BadEmbedding; then nothing is stored.
    """
    size = entity_records.work_size(line.draft for line in lines)

    async def store() -> list[LineResult]:
        async with db.reading(user_id) as reading:
            planned = await plan(reading, lines)
        steps = planned.steps.values()
        described = await offload.run(size, lambda: [step.draft for step in steps if not step.keeps_vector])
        computed = await entity_records.description_vectors(described, embedder)
        async with db.locking(user_id) as writing:
            planned = await plan(writing, lines)
            await write(writing, planned, computed)
        return await offload.run(size, planned.results, lines)

    return await model_replacement.run(embedder, db, store)


async def write(db: Writing, planned: EntityPlan, computed: Mapping[str, str]) -> None:
    """Store the additions and changes of a plan. Under the user's lock."""
    size = entity_records.work_size(step.draft for step in planned.steps.values())
    new, changed = await offload.run(size, planned.changes, computed)
    await entities.save(db, new)
    await name_changes.record(db, changed)
    await mentions.prune(db, LinkedNames(planned.former_members()))


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A valid line with the id of its entity, and the stored entity that it replaces (None: it adds one).

    `names_before` has the stored names by key, the main name first.
    """

    line: Line
    entity_id: UUID
    draft: EntityDraft
    before: Entity | None
    names_before: Mapping[str, str]

    @property
    def status(self) -> EntityStatus:
        """The effect of storing the draft. The order of members, and aliases with the name's key, do not matter."""
        if self.before is None:
            return "added"
        aliases, before = tuple(self.line.names.values())[1:], entity_records.draft_of(self.before)
        draft = replace(self.draft, aliases=aliases, members=tuple(sorted(self.draft.members)))
        return "unchanged" if draft == replace(before, members=tuple(sorted(before.members))) else "updated"

    @property
    def keeps_vector(self) -> bool:
        return self.before is not None and entity_records.is_described_alike(self.draft, self.before)


@dataclass(slots=True)
class EntityPlan:
    """The step or the error of each line, by line number; `lost` has the ids that refused lines would have added."""

    steps: dict[int, PlanStep] = field(default_factory=dict)
    refused: dict[int, errors.StepwellError] = field(default_factory=dict)
    lost: set[UUID] = field(default_factory=set)

    def refuse(self, number: int, error: errors.StepwellError) -> UUID | None:
        """Record the error of a line. Returns the id of the entity that the line would have added, if any."""
        step = self.steps.pop(number, None)
        self.refused[number] = error
        if step is None or step.before is not None:
            return None
        self.lost.add(step.entity_id)
        return step.entity_id

    def changes(self, computed: Mapping[str, str]) -> tuple[list[entities.EntityRecord], dict[str, str]]:
        """The records to store, and the names that are added, changed or removed."""
        records: list[entities.EntityRecord] = []
        changed: dict[str, str] = {}
        for step in self.steps.values():
            if step.status != "unchanged":
                keeps, names = step.keeps_vector, step.line.names
                records.append(entity_records.record_of(step.entity_id, step.draft, names, computed, keeps=keeps))
                changed |= entity_records.changed_names(step.names_before, names)
        return records, changed

    def former_members(self) -> frozenset[UUID]:
        """The members that the plan takes from replaced entities."""
        replaced = [(step.before, step.draft) for step in self.steps.values() if step.before is not None]
        return frozenset(one for before, draft in replaced for one in {*before.member_ids}.difference(draft.member_ids))

    def results(self, lines: Sequence[Line]) -> list[LineResult]:
        """The results of the lines, in order."""
        found = {number: LineResult(number, step.status, step.entity_id) for number, step in self.steps.items()}
        found |= {number: LineResult(number, "refused", error=error) for number, error in self.refused.items()}
        return [found[line.number] for line in lines]


@dataclass(frozen=True, slots=True)
class _Members:
    """The members in lines: the key of each name, the entities with each key, and the ids that may be members.

    `extracted` has the entities with each key that documents name. A name means them only if the user has none with it.
    """

    keys: Mapping[str, str]
    named: Mapping[str, Set[UUID]]
    extracted: Mapping[str, Set[UUID]]
    stored: set[UUID]


async def plan(db: Reading, lines: Sequence[Line]) -> EntityPlan:
    """Plans what each line adds or replaces, with resolved members, or why it is refused."""
    size = entity_records.work_size(line.draft for line in lines)
    new_ids = await offload.run(size, lambda: {one.pair: entity_records.new_id(db.user_id, *one.pair) for one in lines})
    own = await entities.own(db, list(new_ids))
    given = {line.entity_id for line in lines if line.entity_id is not None}
    ids = {*itertools.chain(*own.values()), *given, *new_ids.values()}
    before = {entity.entity_id: entity for entity in await entities.of_ids(db, list(ids))}
    extracted = {one for one, origin in (await entities.origins(db, given)).items() if origin != "user"}
    planned = await offload.run(size, _match_lines, lines, own, new_ids, before, extracted)
    wanted = {member for step in planned.steps.values() for member in step.draft.members}
    by_name = [member for member in wanted if isinstance(member, str)]
    keys = await offload.run(size, lambda: {name: key for name in by_name if (key := gazetteer.key(name))})
    named = await entities.named(db, keys.values())
    by_id = {member for member in wanted if isinstance(member, UUID)}
    origins = await entities.origins(db, by_id.union(*named.values()))
    stored = {one for one in by_id if origins.get(one, "text") != "text"}
    stored |= {step.entity_id for step in planned.steps.values() if step.line.entity_id is not None}
    # A stored member stays one, also if only texts still name it.
    stored.update(*(step.before.members for step in planned.steps.values() if step.before is not None))
    added = {one for one, origin in origins.items() if origin == "user"}
    own_named = {key: added.intersection(ids) for key, ids in named.items()}
    extracted_named = {key: set(ids) - added for key, ids in named.items()}
    await offload.run(size, _resolve_members, planned, _Members(keys, own_named, extracted_named, stored))
    return planned


def _match_lines(
    lines: Sequence[Line],
    own: Mapping[tuple[str, str], Sequence[UUID]],
    new_ids: Mapping[tuple[str, str], UUID],
    before: Mapping[UUID, Entity],
    extracted: Set[UUID],
) -> EntityPlan:
    """Makes a plan with a step for each line. Members are not resolved yet.

    `own` and `new_ids` have the ids of stored and of new entities by type and key of name, `before` the stored entities
    with any of these ids. `extracted` has the given ids that belong to entities found in documents.
    """
    plan = EntityPlan()
    by_pair = {pair: set(ids) for pair, ids in own.items()}
    taken: set[UUID] = set()
    for line in lines:
        pair = line.pair
        try:
            if line.entity_id is not None:
                entity_id = line.entity_id
                if entity_id in extracted or entity_id in {Name(key, key).entity_id for key in line.names}:
                    raise errors.Conflict(EXTRACTED_ID, field="entity_id")
            else:
                usual = new_ids[pair]
                # An entity that once had this name and was renamed, maybe in this request, may have the usual id.
                new = uuid4() if usual in before or usual in taken else usual
                entity_id = _same(by_pair.get(pair, set()), usual) or new
            if entity_id in taken:
                raise errors.Conflict(f"The request has this entity already. {NAMESAKES}", field="name")
        except errors.StepwellError as error:
            plan.refuse(line.number, error)
            continue
        taken.add(entity_id)
        stored = before.get(entity_id)
        stored_names = entity_records.name_keys(stored) if stored is not None else {}
        if stored is not None:
            by_pair.get((stored.type, next(iter(stored_names))), set()).discard(entity_id)
        by_pair.setdefault(pair, set()).add(entity_id)
        plan.steps[line.number] = PlanStep(line, entity_id, line.draft, stored, stored_names)
    return plan


def _same(ids: Set[UUID], usual: UUID) -> UUID | None:
    """The entity of a type and name; None without one. Of several, the one with the usual id. Raises Conflict."""
    if len(ids) > 1 and usual not in ids:
        raise errors.Conflict(f"{len(ids)} entities have this type and name. {NAMESAKES}", field="name")
    return usual if usual in ids else next(iter(ids), None)


def _resolve_members(plan: EntityPlan, known: _Members) -> None:
    """Replace the members of every step by ids. A line with an unknown member is refused.

    A name means an entity that has it after this line and the earlier ones. If there is none, it means an entity that a
    later line adds or renames, or else an entity found in documents.
    """
    named = {key: set(ids) for key, ids in known.named.items()}
    later: dict[str, set[UUID]] = {}
    for step in plan.steps.values():
        for key in step.line.names:
            later.setdefault(key, set()).add(step.entity_id)
    for number, step in list(plan.steps.items()):
        for key in step.names_before.keys() - step.line.names.keys():
            named.get(key, set()).discard(step.entity_id)
        for key in step.line.names:
            named.setdefault(key, set()).add(step.entity_id)
        try:
            members = [_member_id(i, m, known, named, later) for i, m in enumerate(step.draft.members)]
        except errors.BadRequest as error:
            plan.refuse(number, error)
        else:
            plan.steps[number] = replace(step, draft=replace(step.draft, members=tuple(dict.fromkeys(members))))
    _refuse_dependants(plan)


def _member_id(
    index: int, member: UUID | str, known: _Members, named: Mapping[str, set[UUID]], later: Mapping[str, set[UUID]]
) -> UUID:
    field = f"members[{index}]"
    if isinstance(member, UUID):
        if member not in known.stored:
            raise errors.BadRequest(f"There is no entity {member}.", field=field)
        return member
    key = known.keys.get(member, "")
    found = named.get(key) or later.get(key) or known.extracted.get(key, set())
    if len(found) != 1:
        problem = "Several entities have this name: give an id." if found else "No entity has this name."
        raise errors.BadRequest(problem, field=field)
    return next(iter(found))


def _refuse_dependants(plan: EntityPlan) -> None:
    """Refuse the lines with a member that is not added because its line was refused, transitively."""
    containers: dict[UUID, list[int]] = {}
    for number, step in plan.steps.items():
        for member in step.draft.member_ids:
            containers.setdefault(member, []).append(number)
    waiting = list(plan.lost)
    while waiting:
        for number in containers.get(waiting.pop(), ()):
            if number in plan.steps:
                error = errors.BadRequest("A member is added only by a line that was refused.", field="members")
                if (lost := plan.refuse(number, error)) is not None:
                    waiting.append(lost)
