"""Serves the endpoints for entities and for bulk upserts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import Body, Path, Query, Request, Response
from typing_extensions import TypeAliasType

from app import limits
from app.concurrency import offload
from app.entities import api_models, bulk_upsert
from app.entities import operations as entities
from app.entities.types import Entity, EntityFilter
from app.enums import EntityOrigin
from app.http import auth, bodies, parameters, problems, responses
from app.requests import cursors, field_types

router = bodies.router("entities")

_IMRE = {
    "type": "person",
    "name": "Imre Callow",
    "aliases": ["Imre"],
    "role": "archivist",
    "facts": ["Imre keeps a reference brick of each week's mix."],
    "description": "Draws and photographs the old water structures.",
}
_STRUCTURES = [{"type": "place", "name": "Amli Vav"}, {"type": "place", "name": "Teller Ice House"}]
_EXAMPLES: dict[str, Any] = {
    "one": {"summary": "A person", "value": _IMRE},
    "several": {"summary": "Several at once", "value": _STRUCTURES},
}
_LINES = '{"type": "team", "name": "Masons", "members": ["Ana Silva"]}\n{"type": "person", "name": "Ana Silva"}\n'
_NDJSON: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/x-ndjson": {"schema": {"type": "string"}, "examples": {"two": {"value": _LINES}}}},
    }
}


def _id_of(summary: str, entity_id: str) -> Any:
    """The path parameter with an entity as its example. The ids of entities follow from their types and names."""
    return Path(
        description="Id of the entity, from a search or a listing.",
        openapi_examples={
            "sample": {"summary": summary, "value": entity_id},
            "unknown": {"summary": "Id that does not exist", "value": "2b9f0c1e-5d3a-4c86-9a55-0f7f5d1c2e40"},
        },
    )


_FOUND = _id_of("Cliff Clarke, a person named in the sample notes", "4d65d0d2-f45d-a8d8-6fed-794fced00050")
_ADDED = _id_of("Imre Callow, after the example of adding entities", "99db54fd-b87e-56d9-8f2e-70d106b97fd9")
_MERGED: Any = {
    "found": {
        "summary": "The person of this name who was found in the sample notes",
        "value": {"entity_ids": ["99110dbd-42b8-01dd-1655-0be5e39908d2"]},
    }
}
EntityInputList = TypeAliasType(
    "EntityInputList",
    Annotated[list[api_models.EntityInput], *field_types.at_most(api_models.MAX_ENTITIES, at_least=1)],
)
AddedEntities = TypeAliasType("AddedEntities", api_models.StoredEntity | api_models.EntityList)
EntitiesBody = TypeAliasType("EntitiesBody", api_models.EntityInput | EntityInputList)


@router.post(
    "/entities",
    summary="Add entities",
    status_code=201,
    response_model=AddedEntities,
    responses={**problems.WRITE, **problems.responses(409)},
)
async def add_entities(
    body: Annotated[EntitiesBody, Body(openapi_examples=_EXAMPLES)],
    user_id: auth.Writer,
    use: auth.Use,
) -> Any:
    """Store one entity, or a list of entities atomically. Namesakes of one type need an `entity_id` of your choice.

    Stored texts that mention them are linked in the background.
    """
    given = body if isinstance(body, list) else [body]
    drafts, ids = [entity.shape() for entity in given], [entity.entity_id for entity in given]
    stored = await entities.add(drafts, user_id, db=use.db, embedder=use.embedder, ids=ids)
    if isinstance(body, list):
        return await responses.json(
            _size(stored),
            lambda: api_models.EntityList(entities=list(map(api_models.StoredEntity.of, stored))),
            status=201,
        )
    return api_models.StoredEntity.of(stored[0])


@router.post(
    "/entities/bulk",
    summary="Add or replace many entities",
    response_model=api_models.UpsertResult,
    responses={**problems.WRITE, **problems.responses(409)},
    openapi_extra=_NDJSON,
)
async def upsert_entities(request: Request, user_id: auth.Writer, use: auth.Use) -> Response:
    """Store entities from JSON lines. A line replaces the entity with its id, or without an id, with its type and name.

    `members` may contain names. An invalid line is refused with its error; the other lines are stored.
    """
    bodies.require(request, "application/x-ndjson", "application/jsonl")
    raw = await request.body()
    read = await offload.run(len(raw), api_models.read_lines, raw)
    outcomes = await bulk_upsert.run(read.sound, user_id, db=use.db, embedder=use.embedder)
    return await responses.json(len(raw), lambda: read.answer(outcomes))


@router.get("/entities", summary="List entities", response_model=api_models.EntityPage)
async def list_entities(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Entities per page.")] = 50,
    cursor: parameters.Cursor = None,
    type: Annotated[
        str | None, Query(max_length=limits.MAX_ENTITY_TYPE, description="Only entities of this type.")
    ] = None,
    origin: Annotated[EntityOrigin | None, Query(description="Only entities of this origin.")] = None,
    q: Annotated[
        field_types.NameLike | None,
        Query(max_length=limits.MAX_ENTITY_NAME, description="Only entities with a similar name or alias."),
    ] = None,
) -> Response:
    """List the user's entities and the entities extracted from metadata and titles, by name.

    With `q` the result is one page, most similar first.
    """
    if q is not None:
        rows = await entities.find(q, user_id, db=use.db, limit=limit, only=EntityFilter(type, origin))
        return await responses.json(_size(rows), lambda: _page(rows, None))
    after = cursors.read(cursor, cursors.name) if cursor else None
    rows = await entities.page(user_id, db=use.db, limit=limit + 1, after=after, only=EntityFilter(type, origin))
    shown, more = cursors.cut(rows, limit, lambda one: cursors.make(one.name, one.entity_id))
    return await responses.json(_size(shown), lambda: _page(shown, more))


def _size(shown: Sequence[Entity]) -> int:
    """An estimate of the length of entities as JSON, in characters, plus 200 per entity for the work of building it."""
    return sum(200 + sum(map(len, entity.facts)) + len(entity.description or "") for entity in shown)


def _page(shown: Sequence[Entity], more: str | None) -> api_models.EntityPage:
    return api_models.EntityPage(entities=list(map(api_models.StoredEntity.of, shown)), next_cursor=more)


@router.get("/entities/{entity_id}", summary="Get an entity", responses=problems.responses(404))
async def get_entity(
    entity_id: Annotated[UUID, _FOUND], user_id: auth.Searcher, use: auth.ReadUse
) -> api_models.StoredEntity:
    """Return an entity with all its fields."""
    return api_models.StoredEntity.of(await entities.get(entity_id, user_id, db=use.db))


@router.patch(
    "/entities/{entity_id}",
    summary="Change an entity",
    responses={**problems.WRITE, **problems.responses(404, 409)},
)
async def change_entity(
    entity_id: Annotated[UUID, _ADDED],
    changed: Annotated[
        api_models.EntityChange,
        Body(openapi_examples={"role": {"summary": "Another role", "value": {"role": "architect"}}}),
    ],
    user_id: auth.Changer,
    use: auth.Use,
) -> api_models.StoredEntity:
    """Change fields of an entity of origin `user`. If its names change, texts are linked again."""
    return api_models.StoredEntity.of(
        await entities.change(entity_id, changed.shape(), user_id, db=use.db, embedder=use.embedder)
    )


@router.post(
    "/entities/{entity_id}/merge",
    summary="Merge entities",
    responses={**problems.WRITE, **problems.responses(404, 409)},
)
async def merge_entities(
    entity_id: Annotated[UUID, _ADDED],
    merged: Annotated[api_models.EntityMerge, Body(openapi_examples=_MERGED)],
    request: Request,
    user_id: auth.Changer,
    use: auth.Use,
) -> api_models.StoredEntity:
    """Merge others into an entity of origin `user`, atomically: it takes over their names, facts, members and teams.

    Its type, name, role and description stay; the others fill missing ones. Texts are linked in the background.
    """
    actor = auth.actor(request)
    return api_models.StoredEntity.of(await entities.merge(entity_id, merged.entity_ids, user_id, use, actor=actor))


@router.delete("/entities/{entity_id}", summary="Delete an entity", responses=problems.responses(404, 409, 507))
async def delete_entity(
    entity_id: Annotated[UUID, _ADDED], request: Request, user_id: auth.Writer, use: auth.Use
) -> api_models.EntityDeletion:
    """Delete an entity of origin `user` with its links. Extracted entities cannot be deleted."""
    gone = await entities.remove(entity_id, user_id, db=use.db, actor=auth.actor(request))
    return api_models.EntityDeletion(entities_deleted=1, mentions_deleted=gone)


@router.get("/entities/{entity_id}/documents", summary="List an entity's documents", responses=problems.responses(404))
async def list_entity_documents(
    entity_id: Annotated[UUID, _FOUND],
    user_id: auth.Searcher,
    use: auth.ReadUse,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_LISTED, description="Documents per page.")] = 50,
    cursor: parameters.Cursor = None,
) -> api_models.EntityDocumentPage:
    """List the documents linked to an entity with the kinds of links, strongest first."""
    after = cursors.read(cursor, cursors.strength) if cursor else None
    rows = await entities.documents(entity_id, user_id, db=use.db, limit=limit + 1, after=after)
    shown, more = cursors.cut(rows, limit, lambda one: cursors.make(one.strength, one.document_id))
    return api_models.EntityDocumentPage(
        documents=[api_models.EntityDocument.of(linked) for linked in shown], next_cursor=more
    )
