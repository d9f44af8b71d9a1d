"""Defines the limits of requests that the API, the tools, the command line, the settings and the pipelines share."""

MAX_QUERY = 2_000
"""Characters of a query, also after normalisation (`analysis.length`)."""
MAX_HITS = 50
"""Largest `limit` of a search."""
MAX_MULTIHOP_HITS = 20
"""Largest `limit` of a search over several hops, and of a search by a tool, which may become one."""
MIN_HOPS, MAX_HOPS = 2, 4
MAX_RESULTS = 1_000
"""Results of all pages of a search together, and candidates of each leg if the requested ones do not fill a page."""
MIN_CANDIDATES, CANDIDATES, MAX_CANDIDATES = 10, 100, 1_000
"""Chunks that each leg passes to the fusion."""
MAX_RANK_CONSTANT = 1_000
"""Largest `k` of reciprocal rank fusion."""
MAX_GROUP_SIZE = 10
"""Further chunks of a result that is a document."""
MAX_NAMED_DUPLICATES = 10
"""Documents that are named as duplicates of a hit; all are counted."""
MAX_GUIDING_ENTITIES = 20
"""Entities that guide one search."""

MAX_LISTED, MAX_LISTED_BY_TOOL = 200, 100
"""Entries of a page of a listing; the results of tools are read by models."""

MAX_TITLE, MAX_URI = 500, 2_048
"""Characters of a document's title and URI."""
MAX_PATH, MAX_GLOBS, MAX_GLOB, MAX_SOURCE_NAME = 4_096, 50, 500, 200
"""Characters of the path of a source, number and characters of its patterns, and characters of its name."""
MAX_ENTITY_NAME, MAX_ENTITY_TYPE = 200, 40
"""Characters of an entity's name and type."""
MAX_ALIASES, MAX_FACTS, MAX_MERGED, MAX_ENTITIES = 50, 200, 50, 10_000
"""Other names and facts of an entity, and entities that are merged, and stored, at once."""
