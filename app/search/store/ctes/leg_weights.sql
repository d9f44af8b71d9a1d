-- Selects the weights of the legs. If the model reads some languages only, or several, they depend on the language of the
-- documents that contain the largest share of the query's words, words that its configuration ignores among them: the
-- one that the query is in, unless that share is small (docs/decisions/0048-languages.md).
-- Columns: leg_weights: vector, text.
-- part languages  the weights depend on the language of the query
-- :weight_vector float8  weight of the vector leg, 0 if it does not run
-- :weight_text float8  weight of the text leg, 0 if it does not run
-- :read_configs text[]  text-search configurations of the languages that the model reads
-- :least_share float8  least share of the query's words that documents in its language contain
-- :unread_vector float8  weight of the vector leg if the model does not read the language
-- :unread_text float8  weight of the text leg then
-- :foreign_vector float8  weight of the vector leg if no documents are in the language of the query
-- :foreign_text float8  weight of the text leg then
-- if languages
leg_weights AS MATERIALIZED (
    SELECT CASE WHEN s.share < :least_share THEN :foreign_vector WHEN s.is_read THEN :weight_vector ELSE :unread_vector END AS vector,
           CASE WHEN s.share < :least_share THEN :foreign_text WHEN s.is_read THEN :weight_text ELSE :unread_text END AS text
    FROM (
        SELECT g.config = ANY (:read_configs) AS is_read,
               1 - CAST(coalesce(sum(w.times) FILTER (WHERE t.df = 0), 0) AS float8) / max(max(w.last)) OVER () AS share
        FROM corpus AS u
        CROSS JOIN LATERAL unnest(u.configs) AS g (config)
        LEFT JOIN analysed_words AS w ON w.config = g.config
        LEFT JOIN terms AS t ON t.lexeme = w.lexeme
        GROUP BY g.config
    ) AS s
    ORDER BY coalesce(s.share, 1) DESC, s.is_read DESC
    LIMIT 1
)
-- end
-- unless languages
leg_weights AS (
    SELECT :weight_vector AS vector, :weight_text AS text
)
-- end
