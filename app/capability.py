"""Defines what a capability declares, so that entry points find what it adds without naming it.

A place is `module:attribute` below `app`. It is imported when it is used: a command or a worker imports only what it
needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

Place = str
CommandGroup = Literal["search", "store", "manage", "serve"]
"""The groups of commands, in the order of `--help`."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line: its group and its line in `--help`, and where it is defined."""

    group: CommandGroup
    place: Place
    summary: str
    takes_query: bool = False
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Capability:
    """What a folder adds to the service.

    Attributes:
        routers: Routers of FastAPI, below `/api/rag` or where they say.
        tags: The groups of its operations in the OpenAPI document, with a sentence each.
        installs: Functions of the application and the settings that add what is no router.
        commands: Its commands by name.
        tools: Sequences of tools for agents.
        jobs: Kinds of background jobs.
        background: Functions of the services that run beside the jobs until they are cancelled.
        steps: Steps of a search; each is a `search.state.Step`.
        metadata: Functions that are told what a write changes of documents' metadata; see `documents.store`.
        missed_filters: Functions that find conditions of filters which no document meets.
        source_names: Functions of a transaction that read the names of sources by id.
        source_ids: Functions that find sources by the names that filters give.
        repairs: Sequences of repairs of derived rows.
        tables: Sequences of tables, which join the schema as they are imported.
        exports: Names of the parts of an export of a user; `users_<name>.sql` selects one.
        opens: Context managers of the settings that yield what `Services.opened` finds by its type, or None.
        recognisers: Functions of a user and the services that return what recognises pictures, or None.
        reads_pictures: Functions of the settings that tell whether pictures are read.
        deeper: The function that answers a search whose depth is not `fast`.
        upgraded: Functions of the owner's database and the services that do what a new version does to stored
            documents; without services they queue it.
        options: Functions of the settings; `Services.option` finds what they return by its type.
    """

    routers: Sequence[Place] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    installs: Sequence[Place] = ()
    commands: Mapping[str, Command] = field(default_factory=dict)
    tools: Sequence[Place] = ()
    jobs: Sequence[Place] = ()
    background: Sequence[Place] = ()
    steps: Sequence[Place] = ()
    metadata: Sequence[Place] = ()
    missed_filters: Sequence[Place] = ()
    source_names: Sequence[Place] = ()
    source_ids: Sequence[Place] = ()
    repairs: Sequence[Place] = ()
    tables: Sequence[Place] = ()
    exports: Sequence[str] = ()
    opens: Sequence[Place] = ()
    recognisers: Sequence[Place] = ()
    reads_pictures: Sequence[Place] = ()
    deeper: Sequence[Place] = ()
    upgraded: Sequence[Place] = ()
    options: Sequence[Place] = ()


_registered: list[Capability] = []


def register(capabilities: Sequence[Capability]) -> None:
    """Replaces the capabilities of this process."""
    _registered[:] = capabilities
    declared.cache_clear()


@cache
def declared(kind: str) -> tuple[Any, ...]:
    """What the capabilities have declared of one kind, such as `routers`, imported and in their order.

    Raises RuntimeError where none is registered: an entry point calls `capabilities.register` first.
    """
    if not _registered:
        raise RuntimeError("no capability is registered: call app.capabilities.register()")
    return tuple(load(place) for one in _registered for place in getattr(one, kind))


def commands() -> dict[str, Command]:
    """The commands of all capabilities by name, in the order of their groups; none is imported."""
    every = [named for one in _registered for named in one.commands.items()]
    return dict(sorted(every, key=lambda named: get_args(CommandGroup).index(named[1].group)))


def tags() -> dict[str, str]:
    """The groups of operations of all capabilities."""
    return {name: text for one in _registered for name, text in one.tags.items()}


def exports() -> list[str]:
    """The parts of an export of a user: all that was stored. Chunks, vectors and indexes are derived from it."""
    return [name for one in _registered for name in one.exports]


def load(place: Place) -> Any:
    """The object at a place."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(f"app.{module}"), attribute)
