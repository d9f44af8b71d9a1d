-- Tests whether a chunk that the text leg has scored is visible and not excluded by its id.
-- $row  alias of a row with chunk_no
-- part exclusions  chunks that are excluded from the hits
-- part hidden  postings of chunks that are not visible
(true
-- if exclusions
          AND $row.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
-- if hidden
          AND NOT $row.chunk_no <@ (SELECT h.numbers FROM hidden AS h)
-- end
         )
