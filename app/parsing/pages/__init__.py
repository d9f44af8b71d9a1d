"""Reads PDF files and pictures by the places of their words.

`pdf` and `pictures` read files; the other modules find what stands on a page, in which order. Other readers pass the
pictures in their files to `pictures`.
"""
