"""Defines the bodies, ids and responses that the OpenAPI document shows for documents."""

from __future__ import annotations

from typing import Any

from fastapi import Path

from app.documents.api import document_bodies
from app.documents.api.document_models import MAX_DOCUMENTS, DocumentResult, PageInput

NOTE = {
    "content": "# Lime mortar\n\nBelow the third landing we use lime mortar, never cement.",
    "uri": "notes/lime.md",
    "metadata": {"team": "masonry"},
}
NEW_TEXT: Any = {
    "one": {
        "summary": "A new text",
        "value": {
            "content": "# Reimbursement of journeys\n\nSend tickets and bills within a fortnight.",
            "uri": "sample/howto/travel-claims.md",
            "metadata": {"team": "Front Office"},
        },
    }
}
EXAMPLES = {
    "one": {"summary": "One document", "value": NOTE},
    "several": {
        "summary": "Several at once",
        "value": [NOTE, {"content": "Tide tables come from the harbour office."}],
    },
    "page": {
        "summary": "A page, if STEPWELL_FETCH_HOSTS names its host",
        "value": {"url": "https://docs.example.com/lime.html"},
    },
}
ONE_FILE = {"summary": "One file", "value": {"files": ["Lime mortar dries slowly."], "uri": ["notes/lime.txt"]}}
CHANGES: Any = {
    "metadata": {"summary": "Other metadata", "value": {"metadata": {"team": "Field Operations", "draft": None}}},
    "title": {"summary": "Another title", "value": {"title": "Travel claims"}},
}
QUEUED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": DocumentResult,
        "description": "A large document is stored by a job.",
        "headers": {"Location": {"description": "Path of the job.", "schema": {"type": "string"}}},
    }
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "title": "DocumentsBody",
                    "anyOf": [
                        {"$ref": "#/components/schemas/DocumentInput"},
                        PageInput.model_json_schema(),
                        {
                            "title": "DocumentInputList",
                            "type": "array",
                            "items": {"$ref": "#/components/schemas/DocumentInput"},
                            "minItems": 1,
                            "maxItems": MAX_DOCUMENTS,
                        },
                    ],
                },
                "examples": EXAMPLES,
            },
            document_bodies.FORM: document_bodies.SCHEMA,
        },
    }
}
UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {document_bodies.FORM: {**document_bodies.SCHEMA, "examples": {"one": ONE_FILE}}},
    }
}


def _id_of(summary: str, document_id: str) -> Any:
    """The path parameter with a sample note as its example. The ids of sample notes follow from their URIs."""
    return Path(
        description="Id of the document, from a search or a listing.",
        openapi_examples={
            "sample": {"summary": summary, "value": document_id},
            "unknown": {"summary": "Id that does not exist", "value": "7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11"},
        },
    )


PERSON = _id_of("sample/people/cliff-clarke.md", "2b56f55c-0252-563e-a42f-637a9ec777cc")
HOWTO = _id_of("sample/howto/travel-claims.md", "3ca18639-7c59-5be9-8c04-b2e18146fd31")
VENDOR = _id_of("sample/vendors/nimbleford.md", "66d87b9c-4457-52dc-96f3-a63c5d5cf3d6")
