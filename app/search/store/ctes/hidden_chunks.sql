-- Selects the numbers of the chunks that have postings and are not visible.
-- Columns: hidden: numbers (a multirange), chunks (how many).
-- part hidden  postings of chunks that are not visible
-- if hidden
hidden AS MATERIALIZED (
    SELECT coalesce(range_agg(int8range(h.first_no, h.last_no, '[]')), '{}') AS numbers,
           CAST(coalesce(sum(h.last_no - h.first_no + 1), 0) AS bigint) AS chunks
    FROM stepwell.hidden_chunks AS h
    WHERE h.user_id = :user_id
)
-- end
