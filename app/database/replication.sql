-- Reports what a server is in a replication, and how far it is in the write-ahead log.
-- Columns: in_recovery, cluster (identifier that a primary and its standbys share), position and received (byte positions
-- in the log: written or replayed, and received), idle_s (seconds since the last replayed commit), feedback.
SELECT r.in_recovery,
       (SELECT c.system_identifier FROM pg_control_system() AS c) AS cluster,
       CAST(CASE WHEN r.in_recovery THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END
            - CAST('0/0' AS pg_lsn) AS bigint) AS position,
       CAST(CASE WHEN r.in_recovery THEN coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) END
            - CAST('0/0' AS pg_lsn) AS bigint) AS received,
       CAST(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) AS double precision) AS idle_s,
       CAST(current_setting('hot_standby_feedback') AS boolean) AS feedback
FROM (SELECT pg_is_in_recovery() AS in_recovery) AS r
