-- Parts of blocks: longest runs of steps of one function that follow one another. No call instance begins or ends within one.
-- reads: block_step, block_access, instruction, signal_event_row
-- code: instructions as control sees them; next: the address behind
-- block_part: part_id, block_id, first_step, last_step, function_id, first_id, last_id (instructions), executed (the last one), call_index,
-- return_index (where it stores or loads a return address, among the addresses of a run), is_end (of the block)
CREATE TEMP TABLE code AS
SELECT instruction_id, address, ((address::HUGEINT + size) % 18446744073709551616)::UBIGINT AS next, function_id, class, target,
       conditional, repeats
FROM instruction;
CREATE TEMP TABLE block_part AS
WITH step AS (
    SELECT s.block_id, s.step, s.instruction_id, s.executed, n.function_id, n.address,
           lag(s.instruction_id) OVER b AS from_id, lead(s.step) OVER b IS NULL AS is_end
    FROM block_step s JOIN code n USING (instruction_id) WINDOW b AS (PARTITION BY s.block_id ORDER BY s.step)),
cut AS (
    SELECT s.*, CASE WHEN p.instruction_id IS NULL OR p.function_id <> s.function_id
                          OR NOT coalesce(s.address = p.next OR (p.repeats AND s.address = p.address), false) THEN 1 ELSE 0 END AS begins
    FROM step s LEFT JOIN code p ON p.instruction_id = s.from_id),
numbered AS (SELECT *, sum(begins) OVER (PARTITION BY block_id ORDER BY step) AS part FROM cut),
slot AS (
    SELECT block_id, step, arg_max(memory_index, ordinal) FILTER (is_write AND is_stack_relative) AS call_index,
           arg_max(memory_index, ordinal) FILTER (NOT is_write AND is_control) AS return_index
    FROM block_access WHERE space = 'memory' GROUP BY ALL)
SELECT row_number() OVER ()::INTEGER AS part_id, n.block_id, min(n.step) AS first_step, max(n.step) AS last_step, any_value(n.function_id) AS function_id,
       arg_min(n.instruction_id, n.step) AS first_id, arg_max(n.instruction_id, n.step) AS last_id, arg_max(n.executed, n.step) AS executed,
       arg_max(s.call_index, n.step) AS call_index, arg_max(s.return_index, n.step) AS return_index, bool_or(n.is_end) AS is_end
FROM numbered n LEFT JOIN slot s USING (block_id, step) GROUP BY n.block_id, n.part;
-- What the windows of `transfer` fill.
CREATE TEMP TABLE transfer (
    seq BIGINT, thread_id INTEGER, from_seq BIGINT, function_id INTEGER, address UBIGINT, kind VARCHAR, token UBIGINT, slot UBIGINT,
    from_function INTEGER, goes_back BOOLEAN, instruction_id INTEGER, resumes UBIGINT[]);
CREATE TEMP TABLE mark (seq BIGINT, thread_id INTEGER, function_id INTEGER, from_seq BIGINT, steps_before BIGINT);
CREATE TEMP TABLE context_left (
    seq BIGINT, last_seq BIGINT, thread_id INTEGER, function_id INTEGER, first_id INTEGER, last_id INTEGER, executed BOOLEAN,
    call_slot UBIGINT, return_slot UBIGINT, sp UBIGINT, linked BOOLEAN, steps BIGINT, called STRUCT(token UBIGINT, slot UBIGINT, function_id INTEGER));
-- Exceptions that the trace tells of are nested: a return ends the one that was taken last of those that are open. A return without one
-- ends none.
CREATE TEMP TABLE exception_level AS
WITH event AS (
    SELECT row_number() OVER (ORDER BY rowid) AS number, thread_id, coalesce(seq, 0) AS seq, CASE kind WHEN 'entry' THEN 1 ELSE -1 END AS change
    FROM signal_event_row WHERE kind IN ('entry', 'return')),
summed AS (SELECT *, sum(change) OVER (PARTITION BY thread_id ORDER BY number) AS total FROM event)
SELECT number, thread_id, seq, change, total - least(0, min(total) OVER (PARTITION BY thread_id ORDER BY number)) AS level FROM summed;
-- context_id: number of the entry; end_seq: the step behind which it has returned
CREATE TEMP TABLE exception_context AS
SELECT e.number AS context_id, e.thread_id, e.seq, r.seq AS end_seq
FROM (FROM exception_level WHERE change = 1) e
ASOF LEFT JOIN (SELECT *, level + 1 AS of_level FROM exception_level WHERE change = -1) r
    ON r.thread_id = e.thread_id AND r.of_level = e.level AND e.number < r.number;
-- What runs behind a step: the newest of what events say there.
CREATE TEMP TABLE exception_state AS
SELECT l.thread_id, l.seq, CASE WHEN l.level = 0 THEN 0 ELSE c.number END AS context_id
FROM exception_level l
ASOF LEFT JOIN (FROM exception_level WHERE change = 1) c ON c.thread_id = l.thread_id AND c.level = l.level AND l.number >= c.number
QUALIFY row_number() OVER (PARTITION BY l.thread_id, l.seq ORDER BY l.number DESC) = 1;
-- Frames that ended before the return that would match them came: none known yet.
CREATE TEMP TABLE death (start_seq BIGINT, end_seq BIGINT);
CREATE TEMP TABLE one_by_one (thread_id INTEGER);
-- Frames that ended because control went back to what is below them (`longjmp`, exceptions), of the first so many jumps that may go back.
CREATE TEMP TABLE gone_back (start_seq BIGINT, end_seq BIGINT);
CREATE TEMP TABLE looked_at AS SELECT 1000 AS jumps, false AS more;
