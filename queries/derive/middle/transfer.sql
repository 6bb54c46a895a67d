-- Where control did not simply go on from the step before in its thread (rules 1 to 5 of docs/semantics.md), of a window of the run.
-- reads: block_run, block_part, code, meta, context_left, exception_state, function_symbol
-- transfer: seq, thread_id, from_seq, function_id, address, kind (root, call, return, other: a signal begins or ends; exception: one that
-- the trace tells of; resume: what it interrupted goes on; jump: one that may go back), token (return
-- address: of a call the one it leaves, of a return the one it goes to; an exception's number in exception_context), slot, from_function, goes_back (it may have gone back
-- to a live instance: it could go anywhere, and got into another function elsewhere than at its entry), instruction_id (that transferred), resumes (other)
-- mark: seq, thread_id, function_id, from_seq, steps_before (of the thread): where control was transferred or got to another function
-- context_left: the last part of each thread and of what exceptions have interrupted in it; the thread's last with its steps so far
-- last_part: the last part of each thread, with its steps so far
-- each: window
CREATE OR REPLACE TEMP TABLE step_from AS
WITH piece AS (
    SELECT r.start_seq + p.first_step AS seq, r.start_seq + p.last_step AS last_seq, r.thread_id, p.function_id, p.first_id, p.last_id,
           p.executed, r.address[p.call_index + 1] AS call_slot, r.address[p.return_index + 1] AS return_slot,
           CASE WHEN p.is_end THEN r.sp END AS sp, CASE WHEN p.is_end THEN coalesce(r.linked, false) ELSE false END AS linked,
           (p.last_step - p.first_step + 1)::BIGINT AS steps, NULL AS called
    FROM block_run r JOIN block_part p USING (block_id)
    WHERE r.start_seq >= getvariable('lo') AND r.start_seq < getvariable('hi')
    UNION ALL FROM context_left),
-- An exception's handler, or what none has interrupted: 0.
located AS (
    SELECT p.*, coalesce(x.context_id, 0) AS context_id
    FROM piece p ASOF LEFT JOIN exception_state x ON x.thread_id = p.thread_id AND p.seq > x.seq)
-- What belongs together are steps of the same of them.
SELECT *, lag({seq: last_seq, id: last_id, executed: executed, call_slot: call_slot, return_slot: return_slot, sp: sp, linked: linked,
               function_id: function_id}) OVER c AS before,
       lag(last_seq) OVER t AS from_seq, lag(sp) OVER t AS last_sp,
       coalesce(sum(steps) OVER (PARTITION BY thread_id ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT AS steps_before
FROM located
WINDOW t AS (PARTITION BY thread_id ORDER BY seq), c AS (PARTITION BY thread_id, context_id ORDER BY seq);
CREATE OR REPLACE TEMP TABLE moved AS
WITH move AS (
    SELECT s.seq, s.thread_id, s.context_id, s.from_seq, s.before.id AS from_id, s.before.executed AS executed,
           -- Behind an interrupted step registers are what the handler was given; behind the handler's last the stack pointer is as it was.
           s.before.seq <> s.from_seq AS resumes_here, s.before.linked AND NOT resumes_here AS linked,
           CASE WHEN resumes_here THEN s.last_sp ELSE s.before.sp END AS sp, s.before.call_slot AS call_slot, s.before.return_slot AS return_slot,
           n.address, n.function_id, f.address AS entry, s.before.function_id AS from_function, p.next, p.address AS from_address, p.class, p.target, p.conditional,
           coalesce(n.address = p.next OR (p.repeats AND n.address = p.address), false) AS falls, s.steps_before,
           (SELECT value FROM meta WHERE key = 'isa') IN ('x86', 'x86_64') AS stacks
    FROM step_from s JOIN code n ON n.instruction_id = s.first_id JOIN function_symbol f ON f.function_id = n.function_id LEFT JOIN code p ON p.instruction_id = s.before.id
    WHERE s.seq >= getvariable('lo') AND (s.before IS NULL OR NOT falls OR resumes_here)),
jumped AS (
    SELECT *, (executed AND class IN ('jump', 'call', 'return', 'exception_return') AND (target IS NULL OR target = address))
              OR class = 'unknown' AS jumps
    FROM move)
SELECT seq, thread_id, from_seq, function_id, address,
       CASE WHEN from_seq IS NULL THEN 'root'
            WHEN from_id IS NULL THEN CASE WHEN context_id = 0 THEN 'root' ELSE 'exception' END
            -- What was interrupted may be tried again.
            WHEN resumes_here AND (falls OR (address = from_address AND NOT jumps)) THEN 'resume'
            WHEN executed AND (class = 'call' OR (class = 'jump' AND linked)) THEN 'call'
            WHEN executed AND class IN ('return', 'exception_return') THEN 'return'
            -- With a link register any register may hold a return address; the entry of a function is none.
            WHEN executed AND NOT stacks AND class = 'jump' AND target IS NULL AND function_id <> from_function AND address IS DISTINCT FROM entry THEN 'return'
            WHEN jumps THEN CASE WHEN resumes_here THEN 'resume' ELSE 'jump' END
            ELSE 'other' END AS kind,
       CASE kind WHEN 'call' THEN next WHEN 'return' THEN address WHEN 'exception' THEN context_id::UBIGINT END AS token,
       CASE WHEN kind NOT IN ('call', 'return', 'jump') THEN NULL
            -- With a link register the stack pointer stands for the slot.
            WHEN stacks THEN CASE class WHEN 'call' THEN call_slot WHEN 'return' THEN return_slot END
            ELSE sp END AS slot,
       from_function,
       coalesce(kind IN ('jump', 'return') AND target IS NULL AND (class = 'unknown' OR executed AND class IN ('jump', 'return'))
                AND function_id <> from_function AND address <> entry, false) AS goes_back,
       executed AND NOT stacks AND class = 'return' AS by_link, from_id AS instruction_id,
       -- Where control may go on that was taken away here: at the step itself, if it failed, or behind it.
       CASE WHEN kind <> 'other' THEN NULL
            WHEN target IS NULL OR NOT executed OR class = 'next' THEN [from_address, next]
            WHEN conditional THEN [from_address, next, target]
            ELSE [from_address, target] END AS resumes
FROM jumped;
-- Where control was transferred last, if that was a call: of this piece, and behind it.
CREATE OR REPLACE TEMP TABLE called_at AS
WITH told AS (
    SELECT s.seq, s.thread_id, s.context_id,
           CASE WHEN m.kind = 'call' THEN {token: m.token, slot: m.slot, function_id: m.from_function}
                WHEN m.kind NOT IN ('jump', 'resume') OR s.before.function_id <> s.function_id THEN {token: NULL, slot: NULL, function_id: NULL}
                ELSE s.called END::STRUCT(token UBIGINT, slot UBIGINT, function_id INTEGER) AS told
    FROM step_from s LEFT JOIN moved m USING (seq))
SELECT seq, last_value(told IGNORE NULLS) OVER earlier AS before, coalesce(told, before) AS behind
FROM told WINDOW earlier AS (PARTITION BY thread_id, context_id ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);
INSERT INTO transfer
SELECT m.* EXCLUDE (by_link) REPLACE (
           -- With a link register, what was called may have computed where in its caller it returns to.
           CASE WHEN m.by_link AND c.before.function_id = m.function_id
                     AND (m.slot IS NULL OR c.before.slot IS NULL OR m.slot = c.before.slot) THEN c.before.token ELSE m.token END AS token)
FROM moved m JOIN called_at c USING (seq) WHERE kind <> 'jump' OR goes_back;
INSERT INTO mark
SELECT s.seq, s.thread_id, s.function_id, s.from_seq, s.steps_before
FROM step_from s LEFT JOIN (SELECT seq FROM moved WHERE kind <> 'jump') m USING (seq)
WHERE s.seq >= getvariable('lo') AND (m.seq IS NOT NULL OR s.before IS NULL OR s.before.function_id <> s.function_id);
CREATE OR REPLACE TEMP TABLE context_left AS
WITH of_thread AS (SELECT thread_id, max(seq) AS newest, sum(steps)::BIGINT AS all_steps FROM step_from GROUP BY thread_id),
left_behind AS (
    SELECT max(seq) AS seq, max(last_seq) AS last_seq, thread_id, arg_max(function_id, seq) AS function_id, arg_max(first_id, seq) AS first_id,
           arg_max(last_id, seq) AS last_id, arg_max(executed, seq) AS executed, arg_max({v: call_slot}, seq).v AS call_slot,
           arg_max({v: return_slot}, seq).v AS return_slot, arg_max({v: sp}, seq).v AS sp, arg_max(linked, seq) AS linked, arg_max({v: behind}, seq).v AS called
    FROM step_from JOIN called_at USING (seq)
    -- A handler that is over is not gone on with.
    WHERE context_id = 0 OR context_id IN (SELECT context_id FROM exception_context WHERE end_seq IS NULL OR end_seq >= getvariable('hi') - 1)
    GROUP BY thread_id, context_id)
SELECT l.* EXCLUDE (called), CASE WHEN l.seq = t.newest THEN t.all_steps ELSE 0 END::BIGINT AS steps, l.called
FROM left_behind l JOIN of_thread t USING (thread_id);
CREATE OR REPLACE TEMP TABLE last_part AS
SELECT max(seq) AS seq, max(last_seq) AS last_seq, thread_id, sum(steps)::BIGINT AS steps FROM step_from GROUP BY thread_id;
