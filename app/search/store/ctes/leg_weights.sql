-- Selects the weights of the legs. If the languages that the model reads are known, the weights depend on the language
-- of the query: the one whose documents contain the largest share of its words, unless this share is small. Words that
-- a language ignores count as contained (docs/decisions/0002-fusion-weights.md).
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
    SELECT CASE WHEN s.share < :least_share THEN :foreign_vector WHEN s.share > s.read THEN :unread_vector ELSE :weight_vector END AS vector,
           CASE WHEN s.share < :least_share THEN :foreign_text WHEN s.share > s.read THEN :unread_text ELSE :weight_text END AS text
    FROM (
        SELECT max(l.share) AS share, coalesce(max(l.share) FILTER (WHERE l.config = ANY (:read_configs)), 0) AS read
        FROM (
            SELECT w.config, 1 - CAST(coalesce(sum(w.times) FILTER (
                       WHERE w.lexeme IN (SELECT t.lexeme FROM terms AS t WHERE t.df = 0)), 0) AS float8) / max(w.last) AS share
            FROM analysed_words AS w
            GROUP BY w.config
        ) AS l
    ) AS s
)
-- end
-- unless languages
leg_weights AS (
    SELECT :weight_vector AS vector, :weight_text AS text
)
-- end
