-- Lists the sources of all users whose folders are watched.
-- Columns: user_id, source_id, path.
SELECT w.user_id, w.source_id, w.path FROM stepwell.watched_sources() AS w ORDER BY w.user_id, w.source_id
