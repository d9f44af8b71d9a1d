"""The cache of facets is bounded by what they take, however long values are."""

from app.facets.types import CACHED_VALUES, VALUE_LENGTH, Facet, FacetCache, FacetValue


def test_long_values_fill_the_cache_sooner() -> None:
    cache, text = FacetCache(), "x" * 60_000
    for number in range(1_000):
        cache[number] = [Facet("summary", 1, {"string": 1}, 1, (FacetValue(text, 1), FacetValue(number, 1)))]
    assert 300 < len(cache) <= CACHED_VALUES * VALUE_LENGTH / len(text)
    assert cache[999][0].values[1].value == 999
