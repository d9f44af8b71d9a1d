"""Declares the enums of the API as named type aliases, so that the OpenAPI document defines each of them once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType

from app import shapes

Confidence = TypeAliasType(
    "Confidence",
    Annotated[shapes.Confidence, Field(description="Confidence in a hit, derived from its scores.")],
)
Detail = TypeAliasType("Detail", Annotated[shapes.Detail, Field(description="Amount of text returned with a hit.")])
Fusion = TypeAliasType(
    "Fusion",
    Annotated[shapes.Fusion, Field(description="Method that fuses the results of the vector leg and the text leg.")],
)
Hierarchy = TypeAliasType("Hierarchy", Annotated[shapes.Hierarchy, Field(description="Use of entities in a search.")])
MatchedBy = TypeAliasType(
    "MatchedBy", Annotated[shapes.MatchedBy, Field(description="Field of an entity that matched a query.")]
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
