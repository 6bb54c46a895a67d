-- For traces whose calls have times instead of steps: the tables that reports read with ticks in the place of steps.
-- reads: function_call, call_record, function_profile, function_profile_folded, call_edge, call_edge_folded, function_time, stack_time,
-- duckdb-only: makes views that take the place of tables of the database
-- call_stack, stack_ticks, thread
-- param $db: the database, since the views hide its tables
-- steps_self, steps_total, steps: ticks, of calls that are open to the last event of their thread; call_seq, return_seq: ticks since
-- the first entry, to the last exit where the call is open
CREATE OR REPLACE TEMP VIEW open_ticks AS
SELECT r.stack_id, r.call_id, z.last - c.call_time AS ticks
FROM $db.main.function_call c JOIN $db.main.call_record r ON r.call_id = c.call_id
JOIN (SELECT thread_id, greatest(max(call_time), max(return_time)) AS last FROM $db.main.function_call GROUP BY ALL) z ON z.thread_id = c.thread_id
WHERE c.ending = 'open' AND z.last >= c.call_time;
CREATE OR REPLACE TEMP VIEW function_ticks AS
SELECT k.function_id, sum(t.own) AS own,
       -- Without call instances it is not known how long those were open.
       CASE WHEN EXISTS (FROM $db.main.function_call) OR bool_and(t.known)
            THEN any_value(f.sum_outermost) + coalesce(sum(o.ticks), 0) END AS total
FROM (SELECT stack_id, sum(ticks_self) AS own, bool_and(ticks IS NOT NULL) AS known FROM $db.main.stack_ticks GROUP BY ALL) t
JOIN $db.main.call_stack k ON k.stack_id = t.stack_id JOIN $db.main.function_time f ON f.function_id = k.function_id
LEFT JOIN (SELECT stack_id, sum(ticks) AS ticks FROM open_ticks GROUP BY ALL) o ON o.stack_id = t.stack_id AND NOT k.nested
GROUP BY k.function_id;
CREATE OR REPLACE TEMP VIEW function_call AS
SELECT c.* REPLACE (
    least(c.call_time - z.first, 1::UBIGINT << 62)::BIGINT AS call_seq,
    least(greatest(coalesce(c.return_time, z.last), c.call_time) - z.first, 1::UBIGINT << 62)::BIGINT AS return_seq,
    least(r.ticks_self, 1::UBIGINT << 53)::BIGINT AS steps_self, least(coalesce(r.ticks, o.ticks), 1::UBIGINT << 53)::BIGINT AS steps_total)
FROM $db.main.function_call c JOIN $db.main.call_record r ON r.call_id = c.call_id LEFT JOIN open_ticks o ON o.call_id = c.call_id,
     (SELECT min(call_time) AS first, greatest(max(call_time), max(return_time)) AS last FROM $db.main.function_call) z;
CREATE OR REPLACE TEMP VIEW function_profile AS
SELECT p.* REPLACE (
    least(t.own, 1::HUGEINT << 53)::BIGINT AS steps_self, least(t.total, 1::HUGEINT << 53)::BIGINT AS steps_total)
FROM $db.main.function_profile p LEFT JOIN function_ticks t ON t.function_id = p.function_id;
CREATE OR REPLACE TEMP VIEW function_profile_folded AS
SELECT p.* REPLACE (
    least(t.own, 1::HUGEINT << 53)::BIGINT AS steps_self, least(t.total, 1::HUGEINT << 53)::BIGINT AS steps_total)
FROM $db.main.function_profile_folded p LEFT JOIN function_ticks t ON t.function_id = p.function_id;
-- Contexts do not tell kinds of calls apart: where a pair of functions has two, neither has a sum.
CREATE OR REPLACE TEMP VIEW edge_ticks AS
SELECT p.function_id AS caller_function_id, k.function_id AS callee_function_id, least(sum(t.sum + coalesce(o.ticks, 0)), 1::HUGEINT << 53)::BIGINT AS ticks
FROM $db.main.stack_time t JOIN $db.main.call_stack k USING (stack_id)
LEFT JOIN (SELECT stack_id, sum(ticks) AS ticks FROM open_ticks GROUP BY ALL) o ON o.stack_id = t.stack_id
LEFT JOIN $db.main.call_stack p ON p.stack_id = k.parent_stack_id GROUP BY ALL;
CREATE OR REPLACE TEMP VIEW call_edge AS
SELECT e.* REPLACE (
    CASE WHEN e.kind <> 'gap' AND count(*) FILTER (e.kind <> 'gap') OVER (PARTITION BY e.caller_function_id, e.callee_function_id) = 1
         THEN t.ticks END AS steps)
FROM $db.main.call_edge e LEFT JOIN edge_ticks t ON t.caller_function_id IS NOT DISTINCT FROM e.caller_function_id
     AND t.callee_function_id = e.callee_function_id;
CREATE OR REPLACE TEMP VIEW call_edge_folded AS
SELECT e.* REPLACE (
    CASE WHEN e.kind <> 'gap' AND count(*) FILTER (e.kind <> 'gap') OVER (PARTITION BY e.caller_function_id, e.callee_function_id) = 1
         THEN t.ticks END AS steps)
FROM $db.main.call_edge_folded e LEFT JOIN edge_ticks t ON t.caller_function_id IS NOT DISTINCT FROM e.caller_function_id
     AND t.callee_function_id = e.callee_function_id;
CREATE OR REPLACE TEMP VIEW thread AS
SELECT t.* REPLACE (s.ticks AS steps)
FROM $db.main.thread t
LEFT JOIN (SELECT c.thread_id, least(sum(r.ticks_self), 1::HUGEINT << 53)::BIGINT AS ticks
           FROM $db.main.function_call c JOIN $db.main.call_record r USING (call_id) GROUP BY ALL) s ON s.thread_id = t.thread_id;
