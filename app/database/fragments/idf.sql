-- Computes the idf of a lexeme among a user's chunks as Lucene's BM25 defines it, which is never negative.
-- $corpus  alias of a row with chunks, the number of the user's chunks
-- $lexeme  alias of a row with df, null for a lexeme that no chunk contains
ln(1 + ($corpus.chunks - coalesce($lexeme.df, 0) + 0.5) / (coalesce($lexeme.df, 0) + 0.5))
