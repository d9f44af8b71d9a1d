"""No statement shows a restricted caller a row that is made of documents that the caller does not see.

Row-level security hides the rows of documents, chunks and entities. Postings, document frequencies and statistics are
rows of all documents: a statement that reads them joins the chunks that the caller sees, or is named here with the
reason.
"""

import re
from pathlib import Path

import statements

from app.database import sql

NAMES = "lexemes|postings|text_statistics|hidden_chunks|facet_keys|facet_values"
MIXED = re.compile(rf"\bstepwell\.({NAMES})\b")
WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")
SCORES = "yields shares of idf, with which matches are scored; statistics of all documents may change scores"
CONFIGS = "reads which text-search configurations are in use, and analyses the query with them"
JOBS = "runs in jobs and writing transactions, which see everything"
EXEMPT = {
    "chunks_failing_conditions": CONFIGS,
    "chunks_with_names": JOBS,
    "counted_facets": "is replaced by facets for a restricted caller",
    "corrections._CONFIGS": CONFIGS,
    "covered_words": SCORES,
    "differing_facets": "checks the database for its owner",
    "chunks_to_relink._DOTTED_NUMBERS": JOBS,
    "repair_drift": "repairs the database for its owner",
    "repair_wrong_postings": "repairs the database for its owner",
    "signed_words": "reads the texts of chunks, of which row-level security shows the visible ones",
    "synonyms._LEXEMES_OF_QUERY": SCORES,
    "tsqueries._OPERAND_QUERIES": CONFIGS,
    "visible_statistics": "is replaced by statistics_of_chunks for a restricted caller",
}
"""Statements that read such rows without a join, by the reason."""
READING_MODULES = {
    "store.py": "deletes counts in writing transactions, which see everything",
    "hidden_chunks.py": JOBS,
    "chunks_to_relink.py": JOBS,
    "repairs.py": "repairs the database for its owner",
}
"""The modules that read such tables without a statement of their own."""


def test_every_statement_that_reads_rows_of_all_documents_joins_the_visible_chunks() -> None:
    for name, source in statements.SOURCES.items():
        text = statements.text(source)
        if not MIXED.search(text) or WRITES.search(text):
            assert name not in EXEMPT
        elif name not in EXEMPT:
            # `filtered`: the filters of a request always contain those of the caller (`filters.visible`).
            assert {"restricted", "filtered"} & source.parts, f"{name} joins no relation of visible chunks"
            assert "stepwell.chunks" in text, name


def test_only_known_modules_read_such_tables() -> None:
    tables = re.compile(rf"\btables\.({NAMES})\b")
    files = (path for path in Path(sql.FOLDER).rglob("*.py") if tables.search(path.read_text(encoding="utf-8")))
    assert {path.name for path in files} <= READING_MODULES.keys()
