-- Steps to which control did not simply go on from the step before in their thread (rules 1 to 5 of docs/semantics.md).
-- reads: opcode_line, instruction, block_run, block_step, data_access, meta
-- seq, thread_id, from_seq, function_id, address, kind (root, call, return, jump, other: a signal begins or ends), token (return
-- address: of a call the one it leaves, of a return the one it goes to), slot, instruction_id (that transferred), resumes (other)
CREATE TEMP TABLE transfer AS
WITH code AS (
    SELECT instruction_id, address, ((address::HUGEINT + size) % 18446744073709551616)::UBIGINT AS next, function_id, class, target,
           conditional, repeats
    FROM instruction),
step AS (
    SELECT o.seq, o.thread_id, o.instruction_id, lag(o.seq) OVER t AS from_seq, lag(o.instruction_id) OVER t AS from_id,
           lag(o.executed) OVER t AS executed
    FROM opcode_line o WINDOW t AS (PARTITION BY o.thread_id ORDER BY o.seq)),
moved AS (
    SELECT s.seq, s.thread_id, s.from_seq, s.from_id, s.executed, n.address, n.function_id, p.next, p.address AS from_address, p.class, p.target, p.conditional
    FROM step s JOIN code n USING (instruction_id) LEFT JOIN code p ON p.instruction_id = s.from_id
    WHERE s.from_seq IS NULL OR NOT (n.address = p.next OR (p.repeats AND n.address = p.address))),
finish AS (
    SELECT r.start_seq + b.steps - 1 AS seq, r.sp, coalesce(r.linked, false) AS linked
    FROM block_run r JOIN (SELECT block_id, count(*) AS steps FROM block_step GROUP BY ALL) b USING (block_id)),
-- The slot of the return address: where a call stored it, where a return loaded it.
slot AS (
    SELECT m.seq, arg_max(a.address, a.ordinal) AS address
    FROM moved m JOIN data_access a ON a.seq = m.from_seq AND a.space = 'memory'
    WHERE CASE m.class WHEN 'call' THEN a.is_write AND a.is_stack_relative WHEN 'return' THEN NOT a.is_write AND a.is_control END
    GROUP BY m.seq)
SELECT m.seq, m.thread_id, m.from_seq, m.function_id, m.address,
       CASE WHEN m.from_seq IS NULL THEN 'root'
            WHEN m.executed AND (m.class = 'call' OR (m.class = 'jump' AND f.linked)) THEN 'call'
            WHEN m.executed AND m.class IN ('return', 'exception_return') THEN 'return'
            WHEN (m.executed AND m.class IN ('jump', 'call', 'return', 'exception_return') AND (m.target IS NULL OR m.target = m.address))
                 OR m.class = 'unknown' THEN 'jump'
            ELSE 'other' END AS kind,
       CASE WHEN kind = 'call' THEN m.next WHEN kind = 'return' THEN m.address END AS token,
       CASE WHEN kind NOT IN ('call', 'return') THEN NULL
            -- With a link register the stack pointer stands for the slot.
            WHEN (SELECT value FROM meta WHERE key = 'isa') IN ('x86', 'x86_64') THEN s.address
            ELSE f.sp END AS slot,
       m.from_id AS instruction_id,
       -- Where control may go on that was taken away here: at the step itself, if it failed, or behind it.
       CASE WHEN kind <> 'other' THEN NULL
            WHEN m.target IS NULL OR NOT m.executed OR m.class = 'next' THEN [m.from_address, m.next]
            WHEN m.conditional THEN [m.from_address, m.next, m.target]
            ELSE [m.from_address, m.target] END AS resumes
FROM moved m LEFT JOIN finish f ON f.seq = m.from_seq LEFT JOIN slot s ON s.seq = m.seq;
-- Frames that ended before the return that would match them came: none known yet.
CREATE TEMP TABLE death (start_seq BIGINT, end_seq BIGINT);
