"""Declares the enums of the API as named type aliases, so that the OpenAPI document defines each of them once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app import shapes

Confidence = TypeAliasType(
    "Confidence",
    Annotated[shapes.Confidence, Field(description="Confidence in a hit, derived from its scores.")],
)
Detail = TypeAliasType(
    "Detail",
    Annotated[
        shapes.Detail,
        Field(
            description="Fields of a hit: `ids` has ids and the score, `compact` what a language model needs, `full` "
            "all, `preview` all with the first 240 characters of the text."
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
Hierarchy = TypeAliasType("Hierarchy", Annotated[shapes.Hierarchy, Field(description="Use of entities in a search.")])
LinkKind = TypeAliasType(
    "LinkKind",
    Annotated[
        shapes.LinkKind,
        Field(
            description="linked: the name is the title of the document or the heading of the section; shared: both "
            "chunks contain it; named: the query contains it; expanded: the expanded query found the hit."
        ),
    ],
)
MatchedBy = TypeAliasType(
    "MatchedBy", Annotated[shapes.MatchedBy, Field(description="Field of an entity that matched a query.")]
)
MergeDetail = TypeAliasType(
    "MergeDetail",
    Annotated[
        Literal["ids", "compact", "full"],
        Field(
            description="Fields of a merged hit: `ids` has the id and the score, `compact` also the hit as sent, "
            "`full` also the parts of the score."
        ),
    ],
)
Mode = TypeAliasType(
    "Mode",
    Annotated[
        shapes.Mode,
        Field(description="Legs of a search: `semantic` is the vector leg, `lexical` the text leg, `hybrid` both."),
    ],
)
QueryType = TypeAliasType(
    "QueryType", Annotated[shapes.QueryType, Field(description="Type of a query, detected by its form.")]
)
Rerank = TypeAliasType("Rerank", Annotated[shapes.Rerank, Field(description="Method that rescores the top hits.")])
