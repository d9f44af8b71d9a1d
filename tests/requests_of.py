"""Makes requests of searches from options without the objects in which they stand."""

from __future__ import annotations

from typing import Any

from app.pipelines.requests.search_request import Group, GuidanceOptions, HopOptions, Ranking, SearchRequest


def search_request(text: str | None, **options: Any) -> SearchRequest:
    """A search with these options, wherever they stand in the request; `group_size` groups by document."""
    if (size := options.pop("group_size", None)) is not None:
        options["group"] = Group(size=size)
    for name, model in (("hops", HopOptions), ("guidance", GuidanceOptions)):
        inside = _taken(options, model)
        if inside:
            options[name] = model(**inside)
    ranking = Ranking(**_taken(options, Ranking))
    return SearchRequest(query=text, ranking=ranking, **options)


def _taken(options: dict[str, Any], model: type[Any]) -> dict[str, Any]:
    own = model.model_fields.keys() - SearchRequest.model_fields.keys()
    return {name: options.pop(name) for name in own & options.keys()}
