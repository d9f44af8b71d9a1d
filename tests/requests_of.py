"""Makes requests of searches from options without the objects in which they stand."""

from typing import Any

from app.query.search_request import GuidanceOptions, HopOptions, Ranking, SearchRequest

_AT_TOP = SearchRequest.model_fields.keys()


def search_body(text: str | None, **options: Any) -> dict[str, Any]:
    """The JSON of a search with these options at their places; `group_size` groups by document."""
    if (size := options.pop("group_size", None)) is not None:
        options["group"] = {"by": "document", "size": size}
    for name, model in (("hops", HopOptions), ("guidance", GuidanceOptions)):
        if inside := _taken(options, model):
            options[name] = inside
    if (mode := options.pop("hierarchy", None)) is not None:
        options["guidance"] = {**options.get("guidance", {}), "mode": mode}
    ranking = {**_taken(options, Ranking), **options.pop("ranking", {})}
    query = {} if text is None else {"query": text}
    return {**query, **options, **({"ranking": ranking} if ranking else {})}


def search_request(text: str | None, **options: Any) -> SearchRequest:
    """The request of a search with these options."""
    return SearchRequest.model_validate(search_body(text, **options))


def with_change(body: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a search with new values of fields, by their paths; None leaves a field out."""
    for path, value in change.items():
        *parents, name = path.split(".", 2) if path.startswith("filters.") else path.split(".")
        body = place = {**body}
        for part in parents:
            place[part] = {**place.get(part, {})}
            place = place[part]
        place[name] = value
        if value is None:
            del place[name]
    return body


def _taken(options: dict[str, Any], model: type[Any]) -> dict[str, Any]:
    return {name: options.pop(name) for name in (model.model_fields.keys() - _AT_TOP) & options.keys()}
