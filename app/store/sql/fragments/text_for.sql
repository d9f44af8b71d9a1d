-- Selects the form of a text that a text-search configuration indexes: accents are folded for 'english' and 'simple'
-- only.
-- $config  the configuration's name
-- $folded  the text with accents folded
-- $plain  the text with accents kept
CASE WHEN $config IN ('english', 'simple') THEN $folded ELSE $plain END
