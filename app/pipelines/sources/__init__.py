"""Keeps documents in step with folders of files: scans, synchronisation and watching.

Entry: `sources`, and `source_sync` for its jobs. `maintenance` and the layers above import it.
"""
