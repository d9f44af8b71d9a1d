-- Converts the text of a vector to the type of the column `embedding` of a table, `halfvec` or `vector`, with its number
-- of dimensions. The insertion then needs no cast: Citus cannot cast a vector to a halfvec there.
-- $table  table of vectors
-- $text  the vector in pgvector's text format
(jsonb_populate_record(CAST(NULL AS $table), jsonb_build_object('embedding', $text))).embedding
