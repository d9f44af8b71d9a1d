"""Adds an example of each successful response to the OpenAPI document, as the service sends it for the sample notes.

`success_examples.json` holds them by operation and status; `make examples` writes it.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Add the examples to the document that `app.openapi` returns."""
    generate = app.openapi
    shown = stored()

    def openapi() -> dict[str, Any]:
        document = generate()
        for item in document["paths"].values():
            for operation in item.values():
                for status, example in shown.get(operation["operationId"], {}).items():
                    for media in operation["responses"][status]["content"].values():
                        media["example"] = example
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def stored() -> dict[str, dict[str, Any]]:
    """The examples: the id of an operation, then a status, then the body."""
    found: dict[str, dict[str, Any]] = json.loads(
        resources.files("app.http.contract").joinpath("success_examples.json").read_text(encoding="utf-8")
    )
    return found
