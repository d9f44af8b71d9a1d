-- Analyses words and phrases with each text-search configuration of the user's chunks. What a configuration drops, such
-- as stop words, has no row. The statement has a CTE `corpus` with a column configs.
-- $folded  an array of words and phrases, accents folded
-- $plain  the same with accents kept
SELECT g.config, {{within_one_field q.query, 'ABCD'}} AS query
    FROM corpus AS u
    CROSS JOIN LATERAL unnest(u.configs) AS g (config)
    CROSS JOIN LATERAL unnest($folded, $plain) AS p (folded, plain)
    CROSS JOIN LATERAL phraseto_tsquery(CAST(g.config AS regconfig),
        {{text_for g.config, p.folded, p.plain}}) AS q (query)
    WHERE numnode(q.query) > 0
