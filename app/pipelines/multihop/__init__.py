"""Answers questions over several hops, and chooses between one search and several hops.

Entry: `multihop.run`, and `depth.run` for requests that leave the choice to Stepwell. Only `why` imports it.
"""
