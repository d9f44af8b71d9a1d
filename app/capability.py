"""Defines how a folder declares what it adds to the service, and reads what the registered folders declare.

Entry points read these declarations and name no folder. A place is `module:attribute` below `app`. It is imported on
first use, so a command or a worker imports only what it needs.
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
    """A command of the command line: its group, its place, and its line in `--help`."""

    group: CommandGroup
    place: Place
    summary: str
    takes_query: bool = False
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Capability:
    """What a folder adds to the service.

    Attributes:
        routers: Routers of FastAPI, with their prefixes.
        tags: The groups of its operations in the OpenAPI document, each with a sentence.
        installs: Functions of the application and the settings that add everything other than routers.
        commands: Its commands by name.
        tools: Sequences of tools for agents.
        optional_tools: The names of those that agents are offered only where the settings name them.
        jobs: Kinds of background jobs.
        background: Functions of the services that run beside the jobs until they are cancelled.
        expires: Functions of a shared transaction and the services that delete the expired rows of all users, and
            return their number.
        steps: Steps of a search; each is a `search.state.Step`.
        metadata: Functions that receive the metadata that a write changes; see `documents.store`.
        missed_filters: Functions that find conditions of filters that no document meets.
        source_names: Functions of a transaction that read the names of sources by id.
        source_ids: Functions that find sources by the names that filters give.
        repairs: Sequences of repairs of derived rows.
        tables: Sequences of tables. Their import adds them to the schema.
        exports: Names of the parts of a user's export; `users_<name>.sql` selects a part.
        opens: Context managers of the settings. They yield an object that `Services.opened` finds by type, or None.
        recognisers: Functions of a user and the services that return a recogniser of pictures, or None.
        reads_pictures: Functions of the settings that tell whether pictures are read.
        deeper: The function that answers a search whose depth is not `fast`.
        upgraded: Functions of the owner's database and the services that adapt stored documents to a new version, or
            say how to; without services they queue this work.
        options: Functions of the settings. `Services.option` finds the object that they return by type.
    """

    routers: Sequence[Place] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    installs: Sequence[Place] = ()
    commands: Mapping[str, Command] = field(default_factory=dict)
    tools: Sequence[Place] = ()
    optional_tools: Sequence[str] = ()
    jobs: Sequence[Place] = ()
    background: Sequence[Place] = ()
    expires: Sequence[Place] = ()
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
    """Imports and returns what the capabilities declare of one kind, such as `routers`, in their order.

    Raises RuntimeError if no capability is registered: an entry point must call `capability_registry.register` first.
    """
    if not _registered:
        raise RuntimeError("no capability is registered: call app.capability_registry.register()")
    return tuple(load(place) for one in _registered for place in getattr(one, kind))


def commands() -> dict[str, Command]:
    """The commands of all capabilities by name, in the order of their groups. Imports none of them."""
    every = [named for one in _registered for named in one.commands.items()]
    return dict(sorted(every, key=lambda named: get_args(CommandGroup).index(named[1].group)))


def tags() -> dict[str, str]:
    """The groups of operations of all capabilities."""
    return {name: text for one in _registered for name, text in one.tags.items()}


def optional_tools() -> list[str]:
    """The names of the optional tools of all capabilities. Imports none of them."""
    return [name for one in _registered for name in one.optional_tools]


def exports() -> list[str]:
    """The parts of a user's export. They hold all that was stored, but not the derived chunks, vectors and indexes."""
    return [name for one in _registered for name in one.exports]


def load(place: Place) -> Any:
    """The object at a place."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(f"app.{module}"), attribute)
