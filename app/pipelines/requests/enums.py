"""Declares the enums of requests as named type aliases, so that the OpenAPI document defines each of them once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app import shapes

Collapse = TypeAliasType(
    "Collapse",
    Annotated[
        Literal["duplicates", "off"],
        Field(description="What is collapsed: passages with the same text, but for a few words (`duplicates`)."),
    ],
)
Confidence = TypeAliasType(
    "Confidence",
    Annotated[shapes.Confidence, Field(description="The word for the relevance of a hit, or of its scores.")],
)
Depth = TypeAliasType(
    "Depth",
    Annotated[
        shapes.Depth,
        Field(description="One search (`fast`), several hops (`thorough`), or the better one for the query (`auto`)."),
    ],
)
Detail = TypeAliasType(
    "Detail",
    Annotated[
        shapes.Detail,
        Field(description="Text of a hit: the passage (`full`), its best sentences (`compact`), or `ids` alone."),
    ],
)
Extractor = TypeAliasType(
    "Extractor",
    Annotated[
        shapes.TermMethod,
        Field(
            description="Method that extracts the terms of a further hop: `auto` is the best one available, and with "
            "`none` the hop only follows links."
        ),
    ],
)
Fusion = TypeAliasType(
    "Fusion",
    Annotated[shapes.Fusion, Field(description="Method that fuses the results of the vector leg and the text leg.")],
)
GroupBy = TypeAliasType(
    "GroupBy",
    Annotated[Literal["document"], Field(description="What results are grouped by: the document of their chunks.")],
)
GuidanceMode = TypeAliasType(
    "GuidanceMode", Annotated[shapes.GuidanceMode, Field(description="Use of entities in a search.")]
)
HopMerge = TypeAliasType(
    "HopMerge",
    Annotated[
        shapes.HopMerge,
        Field(description="Score of the hits of all hops: by their links, or by RRF with a bonus for hop 1."),
    ],
)
Mode = TypeAliasType(
    "Mode",
    Annotated[
        shapes.Mode,
        Field(description="Legs of a search: `semantic` is the vector leg, `lexical` the text leg, `hybrid` both."),
    ],
)
Rerank = TypeAliasType("Rerank", Annotated[shapes.Rerank, Field(description="Method that rescores the top hits.")])
