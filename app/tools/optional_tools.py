"""Names the tools that agents are offered only where the settings name them, and the contracts of other platforms."""

OPTIONAL_TOOLS = ("rate_passage", "add_document", "delete_document", "add_source", "sync_source")
COMPAT: dict[str, tuple[str, ...]] = {"chatgpt": ("search", "fetch"), "dify": ()}
"""Contracts of other platforms, and the tools that each adds."""
COMPAT_TOOLS = tuple(name for names in COMPAT.values() for name in names)
