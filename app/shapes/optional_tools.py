"""Names the tools that agents are offered only where the settings name them."""

OPTIONAL_TOOLS = ("list_facets", "rate_passage", "search_documents_multihop")
