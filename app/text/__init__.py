"""Pure text processing: no clock, no network, no database.

Every function takes time linear in the length of its input, because documents are untrusted.

    words        characters, cleaning, languages, and text as Postgres indexes it
    structure    headings, tables, sentences and metadata of documents
    chunking     passages of a size in tokens
    names        names in texts and queries, and their comparison
    queries      parsed queries, and what passages contain of them
"""
