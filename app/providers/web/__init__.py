"""Fetches pages and files of the public web.

Entry: `fetching.WebFetcher`. `runtime` constructs it, and pipelines use it through `base.PageFetcher`.
"""
