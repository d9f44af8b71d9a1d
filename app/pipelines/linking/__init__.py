"""Links texts to entities: finds known names in stored texts, and keeps the links current when names change.

Entry: `mention_extraction`, called in the transaction of a write. `documents` and the folders above it import it.
"""
