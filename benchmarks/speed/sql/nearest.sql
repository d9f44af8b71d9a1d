-- The bare HNSW lookup, as a yardstick: nothing but the nearest vectors of the table.
-- Columns: chunk_no.
-- :embedding text::vector
-- :candidates bigint
SELECT e.chunk_no FROM stepwell.embeddings AS e ORDER BY e.embedding <=> :embedding LIMIT :candidates
