-- Selects the form of a text that a text-search configuration indexes: accents are folded for configurations without a
-- stemmer and 'english' only, words of inflected languages without a good one end after six letters, and the ligature æ
-- is expanded for 'french' too.
-- $config  the configuration's name
-- $folded  the text with accents folded
-- $plain  the text with accents kept
CASE WHEN $config IN ('english', 'simple') THEN $folded
     WHEN $config = 'stepwell.truncated' THEN regexp_replace($folded, '([^ -@\[-`{-~]{6})[^ -@\[-`{-~]+', '\1', 'g')
     WHEN $config = 'french' THEN replace($plain, 'æ', 'ae') ELSE $plain END
