-- Selects the form of a text that a text-search configuration indexes: accents are folded for 'english' and 'simple'
-- only, and the ligature æ is expanded for 'french' too.
-- $config  the configuration's name
-- $folded  the text with accents folded
-- $plain  the text with accents kept
CASE WHEN $config IN ('english', 'simple') THEN $folded WHEN $config = 'french' THEN replace($plain, 'æ', 'ae') ELSE $plain END
