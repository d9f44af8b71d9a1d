-- Selects the form of a text that a text-search configuration indexes. Accents are folded for 'english' and for the two
-- configurations without a stemmer. One of these, 'stepwell.truncated', cuts words after six letters, for inflected
-- languages without a good stemmer. For 'french' only the ligature æ is expanded.
-- $config  the configuration's name
-- $folded  the text with accents folded
-- $plain  the text with accents kept
CASE WHEN $config IN ('english', 'simple') THEN $folded
     WHEN $config = 'stepwell.truncated' THEN regexp_replace($folded, '([^ -@\[-`{-~]{6})[^ -@\[-`{-~]+', '\1', 'g')
     WHEN $config = 'french' THEN replace($plain, 'æ', 'ae') ELSE $plain END
