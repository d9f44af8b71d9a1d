"""Records acknowledged writes and compares them with what the service returns.

A write whose outcome is unknown (connection lost, 5xx) leaves two or more permitted states until the next check reads
the actual one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Version = int | None
"""The version of a document; None means that the document does not exist."""
NAMES = (
    "Vendors",
    "vendors",
    "New",
    "new",
    "Lime mortar",
    "routing",
    "Firmware",
    "station",
    "office",
    "ledger entries",
)
"""Titles that the texts contain as names or as ordinary words."""


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """One document of one user."""

    user: str
    uri: str


@dataclass(frozen=True, slots=True)
class Found:
    """A document as the service lists it."""

    key: DocumentKey
    document_id: str
    title: str
    content_hash: str
    chunk_count: int


@dataclass(slots=True)
class Ledger:
    """The permitted versions of each document, and which documents are being written."""

    permitted: dict[DocumentKey, set[Version]] = field(default_factory=dict)
    latest: dict[DocumentKey, int] = field(default_factory=dict)
    acknowledged: int = 0
    unknown: int = 0
    _busy: set[DocumentKey] = field(default_factory=set)

    @contextmanager
    def reserved(self, keys: Iterable[DocumentKey]) -> Iterator[list[DocumentKey]]:
        """Reserves those of the documents that no other writer has reserved."""
        free = [key for key in dict.fromkeys(keys) if key not in self._busy]
        self._busy.update(free)
        try:
            yield free
        finally:
            self._busy.difference_update(free)

    def next_version(self, key: DocumentKey) -> int:
        """Returns a version number that was never used for the document."""
        self.latest[key] = self.latest.get(key, 0) + 1
        return self.latest[key]

    def versions(self, key: DocumentKey) -> set[Version]:
        """Returns the permitted versions."""
        return self.permitted.get(key, {None})

    def attempted(self, key: DocumentKey, version: Version) -> None:
        """Permits a version in addition, before the request that writes it is sent."""
        self.permitted[key] = {*self.versions(key), version}
        self.latest[key] = max(self.latest.get(key, 0), version or 0)

    def acknowledge(self, key: DocumentKey, version: Version) -> None:
        """Permits only the acknowledged version."""
        self.permitted[key] = {version}
        self.acknowledged += 1

    def refuse(self, key: DocumentKey, version: Version) -> None:
        """Withdraws a version whose write was refused with a 4xx status."""
        self.permitted[key] = self.versions(key) - {version} or {None}

    def check(self, user: str, found: Iterable[Found]) -> list[str]:
        """Compares a user's documents with the permitted versions; returns the violations and settles open states."""
        violations: list[str] = []
        seen: dict[DocumentKey, Version] = {}
        for document in found:
            if document.key in seen:
                violations.append(f"{user}: {document.key.uri} is stored twice")
            seen[document.key] = self.version_of(document)
            if seen[document.key] is None:
                violations.append(f"{user}: {document.key.uri} has a title and a text of different writes")
        for key in {key for key in self.permitted if key.user == user} | seen.keys():
            actual, expected = seen.get(key), self.versions(key)
            if actual not in expected:
                violations.append(f"{user}: {key.uri} has version {actual}, permitted: {sorted(map(str, expected))}")
            self.permitted[key] = {actual}
        return violations

    def version_of(self, document: Found) -> Version:
        """Returns the version whose title and text the document has, or None if they do not belong together."""
        for version in range(self.latest.get(document.key, 0), 0, -1):
            if document.content_hash == hashlib.sha256(text(document.key, version).encode()).hexdigest():
                return version if document.title == title(document.key, version) else None
        return None


def title(key: DocumentKey, version: int) -> str:
    """Returns the title of one version: a random one of NAMES, or one that no text contains."""
    drawn = hashlib.sha256(f"title {key.user} {key.uri} {version}".encode()).digest()[0] % (2 * len(NAMES))
    return NAMES[drawn] if drawn < len(NAMES) else f"{key.uri} version {version}"


def marker(key: DocumentKey, version: int) -> str:
    """Returns a word that occurs in this version of the document only."""
    return "q" + hashlib.sha256(f"{key.user} {key.uri} {version}".encode()).hexdigest()[:15] + "q"


def text(key: DocumentKey, version: int) -> str:
    """Returns the text of one version: a few paragraphs with the marker in the first and last."""
    topics = ("lime mortar", "buoy telemetry", "cold storage", "routing", "firmware", "ledger entries", "rope access")
    own = marker(key, version)
    paragraphs = [
        f"The note {own} is about {topics[version % len(topics)]} at station {len(key.uri) + version}. "
        f"The vendors sent new parts to the {NAMES[version % len(NAMES)]} group."
    ]
    for number in range(version % 4):
        topic = topics[(version + number) % len(topics)]
        sentence = f"Station {number} recorded {topic} on day {version * 7 + number} and reported it to the office. "
        paragraphs.append(sentence * 8)
    paragraphs.append(f"End of {own}.")
    return "\n\n".join(paragraph.strip() for paragraph in paragraphs)
