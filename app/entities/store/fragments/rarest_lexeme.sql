-- Selects the lexeme of a text that the fewest of the user's chunks contain; null for a text without lexemes.
-- $config  text-search configuration
-- $text  the text
(SELECT w.lexeme
         FROM unnest(tsvector_to_array(to_tsvector(CAST($config AS regconfig), $text))) AS w (lexeme)
         LEFT JOIN LATERAL (
             {{document_frequency w.lexeme COLLATE "C"}}
         ) AS l ON true
         ORDER BY coalesce(l.df, 0), w.lexeme
         LIMIT 1)
