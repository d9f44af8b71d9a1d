-- Selects the BM25 score of the chunk, if the terms yield it as a candidate.
-- Columns: chunk_no, score.
-- part text  the text leg
-- part strict  phrases and required words
-- if text
asked_text AS MATERIALIZED (
    SELECT s.chunk_no, s.score FROM asked AS a JOIN scored AS s ON s.chunk_no = a.chunk_no
-- if strict
    WHERE {{passes_strict s}}
-- end
)
-- end
