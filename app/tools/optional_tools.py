"""Names the tools that agents are offered only where the settings name them, and the contracts of other platforms."""

OPTIONAL_TOOLS = ("list_facets", "rate_passage", "search_documents_multihop")
COMPAT: dict[str, tuple[str, ...]] = {"chatgpt": ("search", "fetch"), "dify": ()}
"""Contracts of other platforms, and the tools that each adds."""
COMPAT_TOOLS = tuple(name for names in COMPAT.values() for name in names)
