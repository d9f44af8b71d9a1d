"""What travels between the rooms.

Reading: Query → Candidate → Hit → Answer. Writing: Upload → Document → Passage → Chunk.
Each noun is made in exactly one room; all are frozen.
"""

from app.shapes.entities import Entity, EntityDraft, LinkedDocument, MentionKind, Origin
from app.shapes.kinds import Confidence, Degraded, Detail, Fusion, Json, Mode, QueryType, SearchMode, Vector
from app.shapes.reading import (
    Answer,
    Candidate,
    Filters,
    Hit,
    Hop,
    IndexText,
    Led,
    Lexical,
    ParsedQuery,
    Query,
    Recall,
    Recalled,
    StandingName,
    Term,
    Via,
    Weights,
)
from app.shapes.writing import Chunk, ChunkDraft, Deleted, Document, Draft, Passage, Stats, Stored, Upload

__all__ = [
    "Answer",
    "Candidate",
    "Chunk",
    "ChunkDraft",
    "Confidence",
    "Degraded",
    "Deleted",
    "Detail",
    "Document",
    "Draft",
    "Entity",
    "EntityDraft",
    "Filters",
    "Fusion",
    "Hit",
    "Hop",
    "IndexText",
    "Json",
    "Led",
    "Lexical",
    "LinkedDocument",
    "MentionKind",
    "Mode",
    "Origin",
    "ParsedQuery",
    "Passage",
    "Query",
    "QueryType",
    "Recall",
    "Recalled",
    "SearchMode",
    "StandingName",
    "Stats",
    "Stored",
    "Term",
    "Upload",
    "Vector",
    "Via",
    "Weights",
]
