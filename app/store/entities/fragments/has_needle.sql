-- Tests whether a text of `text_to_probe` has a needle of `name_probes`. A text of ASCII has no name of other letters.
-- $folded  the text
-- $needle  the needle
CASE WHEN $needle = '' THEN octet_length($folded) > length($folded) ELSE position($needle IN $folded) > 0 END
