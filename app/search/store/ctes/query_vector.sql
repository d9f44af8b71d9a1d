-- Selects the query's vector as the type of the stored vectors.
-- Columns: vector.
-- part vector  the vector leg
-- if vector
query_vector AS MATERIALIZED (
    {{query_vector}}
)
-- end
