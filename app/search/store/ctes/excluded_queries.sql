-- Analyses the words and phrases that no hit may contain, with each text-search configuration.
-- Columns: config, query.
-- part excluding  words and phrases that no hit may contain
-- :excluded_folded text[]  words and phrases that no hit may contain, accents folded
-- :excluded_plain text[]  words and phrases that no hit may contain, accents kept
-- if excluding
excluded_queries AS MATERIALIZED (
    {{phrase_queries :excluded_folded, :excluded_plain}}
)
-- end
