-- Takes the job that has waited longest; one whose lease ran out waits too. Two workers never take the same one.
-- Columns: job_id, user_id, kind, payload, progress, attempts.
-- :kinds text[]
-- :lease_s float8  how long it is held
-- :of_user text  null: anybody's
UPDATE stepwell.jobs AS j
SET status = 'running', attempts = j.attempts + 1, leased_until = now() + make_interval(secs => :lease_s)
WHERE j.job_id = (
    SELECT w.job_id FROM stepwell.jobs AS w
    WHERE w.kind = ANY (:kinds) AND (:of_user IS NULL OR w.user_id = :of_user)
      AND ((w.status = 'queued' AND w.run_at <= now()) OR (w.status = 'running' AND w.leased_until < now()))
    ORDER BY w.run_at, w.job_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING j.job_id, j.user_id, j.kind, j.payload, j.progress, j.attempts
