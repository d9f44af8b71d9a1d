"""Defines the files through which a benchmark and the runner of a peer exchange chunks, questions and results.

Imports the standard library and numpy only, because runners have no other package in common.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Material:
    """The chunks (`documents` has each chunk's document) and questions of one set, with a unit vector for each text."""

    documents: list[str]
    chunks: list[str]
    chunk_vectors: Vectors
    questions: list[str]
    question_vectors: Vectors

    def save(self, folder: Path) -> None:
        """Writes the material into an existing folder."""
        texts = {"documents": self.documents, "chunks": self.chunks, "questions": self.questions}
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        np.save(folder / "chunks.npy", self.chunk_vectors)
        np.save(folder / "questions.npy", self.question_vectors)

    @classmethod
    def load(cls, folder: Path) -> Material:
        """Reads what `save` wrote."""
        texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        chunks, questions = (np.load(folder / f"{name}.npy") for name in ("chunks", "questions"))
        return cls(texts["documents"], texts["chunks"], chunks, texts["questions"], questions)


@dataclass(frozen=True, slots=True)
class Order:
    """What a runner does: the folder of the material, the peer's own storage, and the parameters of the questions.

    `dsn` is an empty database with the extension vector, `files` an empty folder. `server_pid` is the postmaster whose
    CPU time is counted, or None. `limit` is the number of chunks an answer has, `candidates` the number that each leg
    passes to the fusion where the peer has such a parameter. `stop_words` are those of Postgres's English dictionary.
    """

    material: str
    result: str
    dsn: str
    files: str
    server_pid: int | None
    limit: int
    candidates: int
    rounds: int
    variant: str
    stop_words: list[str]

    def save(self, path: Path) -> None:
        """Writes the order as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Order:
        """Reads what `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Result:
    """What a peer answered (documents, best first, by question) and what it took.

    `took_ms` has the duration of every answer after the warm-up; `cpu_s` is the CPU time of all of them, that of the
    client and of the database server.
    """

    versions: dict[str, str]
    ingest_s: float
    size_bytes: int
    rankings: list[list[str]]
    took_ms: list[float]
    cpu_s: float

    def joined(self, later: Result) -> Result:
        """Returns the answers of a later turn, with the times of both and the shorter ingest."""
        took_ms, ingest_s = [*self.took_ms, *later.took_ms], min(self.ingest_s, later.ingest_s)
        return dataclasses.replace(later, took_ms=took_ms, ingest_s=ingest_s, cpu_s=self.cpu_s + later.cpu_s)

    def save(self, path: Path) -> None:
        """Writes the result as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Result:
        """Reads what `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def ranking(found: Sequence[int], documents: Sequence[str]) -> list[str]:
    """Returns the documents of chunks in the order of their first chunks."""
    return list(dict.fromkeys(documents[number] for number in found))
