-- Claims the job that has waited longest, of the user whom the worker has served least recently. A running job whose
-- lease has expired counts as waiting. SKIP LOCKED passes over a job that is being cancelled. A user's jobs of one kind
-- run one after the other, so no other claim may run at once; the running jobs are read once, not for each waiting job.
-- Jobs of users whom the worker has not served are read in the order of the index, up to the first.
-- Attempts are counted in a smallint, from 1 again after the largest, for a job that is never given up.
-- Columns: job_id, user_id, kind, payload, progress, attempts, failures.
-- :kinds text[]  kinds of jobs to claim
-- :lease_s float8  duration of the lease in seconds
-- :of_user text  only jobs of this user; null: of any user
-- :served text[]  users whose jobs the worker has run, the last one at the end; those of others come first
WITH running AS MATERIALIZED (
    SELECT o.user_id, o.kind FROM stepwell.jobs AS o
    WHERE o.kind = ANY (:kinds) AND o.status = 'running' AND o.leased_until >= now()
), not_served AS MATERIALIZED (
    SELECT w.job_id FROM stepwell.jobs AS w
    WHERE w.kind = ANY (:kinds) AND (:of_user IS NULL OR w.user_id = :of_user) AND w.user_id <> ALL (:served)
      AND ((w.status = 'queued' AND w.run_at <= now()) OR (w.status = 'running' AND w.leased_until < now()))
      AND (w.user_id, w.kind) NOT IN (SELECT r.user_id, r.kind FROM running AS r)
    ORDER BY w.run_at, w.job_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), of_served AS MATERIALIZED (
    SELECT w.job_id FROM stepwell.jobs AS w
    WHERE cardinality(:served) > 0 AND NOT EXISTS (SELECT FROM not_served)
      AND w.kind = ANY (:kinds) AND (:of_user IS NULL OR w.user_id = :of_user) AND w.user_id = ANY (:served)
      AND ((w.status = 'queued' AND w.run_at <= now()) OR (w.status = 'running' AND w.leased_until < now()))
      AND (w.user_id, w.kind) NOT IN (SELECT r.user_id, r.kind FROM running AS r)
    ORDER BY array_position(:served, w.user_id), w.run_at, w.job_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE stepwell.jobs AS j
SET status = 'running', attempts = j.attempts % 32767 + 1, leased_until = now() + make_interval(secs => :lease_s)
WHERE j.job_id = (SELECT n.job_id FROM not_served AS n UNION ALL SELECT s.job_id FROM of_served AS s)
RETURNING j.job_id, j.user_id, j.kind, j.payload, j.progress, j.attempts, j.failures
