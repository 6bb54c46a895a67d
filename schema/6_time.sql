-- Calls with their times, of formats that record entries and exits (XRay). Times are ticks of the clock; meta has cycle_frequency.
CREATE TABLE call_event_row (
    event_no BIGINT NOT NULL, thread_id INTEGER NOT NULL, time UBIGINT NOT NULL, cpu USMALLINT NOT NULL, kind UTINYINT NOT NULL,
    function_id INTEGER NOT NULL);
CREATE VIEW call_event AS
    SELECT event_no, thread_id, time, cpu, CASE kind WHEN 0 THEN 'enter' WHEN 1 THEN 'exit' ELSE 'tail exit' END AS kind, function_id
    FROM call_event_row;
CREATE TABLE trace_event (
    event_no BIGINT NOT NULL, thread_id INTEGER NOT NULL, time UBIGINT NOT NULL, cpu USMALLINT NOT NULL, kind VARCHAR NOT NULL,
    type INTEGER, size BIGINT NOT NULL, data BLOB NOT NULL, call_id INTEGER);
CREATE TABLE call_argument (call_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, value UBIGINT NOT NULL);
CREATE TABLE call_record (
    call_id INTEGER NOT NULL, call_event BIGINT, return_event BIGINT, stack_id INTEGER, ticks UBIGINT, ticks_self UBIGINT);
CREATE TABLE trace_function (function_id INTEGER NOT NULL, number UINTEGER NOT NULL);
CREATE TABLE stack_ticks (stack_id INTEGER NOT NULL, ticks UBIGINT, calls BIGINT NOT NULL, ticks_self UBIGINT NOT NULL);
CREATE TABLE stack_time (
    stack_id INTEGER NOT NULL, calls BIGINT NOT NULL, min UBIGINT, median UBIGINT, p90 UBIGINT, p99 UBIGINT, max UBIGINT, sum HUGEINT,
    sum_self HUGEINT);
CREATE TABLE function_time (
    function_id INTEGER NOT NULL, calls BIGINT NOT NULL, min UBIGINT, median UBIGINT, p90 UBIGINT, p99 UBIGINT, max UBIGINT,
    sum HUGEINT, sum_self HUGEINT, sum_outermost HUGEINT);
CREATE VIEW call_timing AS
    SELECT s.name AS function, t.calls, t.min, t.median, t.p90, t.p99, t.max, t.sum, t.sum_self, t.sum_outermost,
           t.min / f.hz AS min_s, t.median / f.hz AS median_s, t.p90 / f.hz AS p90_s, t.p99 / f.hz AS p99_s, t.max / f.hz AS max_s,
           t.sum / f.hz AS sum_s, t.sum_self / f.hz AS sum_self_s, t.sum_outermost / f.hz AS sum_outermost_s, t.function_id
    FROM function_time t JOIN function_symbol s USING (function_id),
         (SELECT CAST(max(value) AS DOUBLE) AS hz FROM meta WHERE key = 'cycle_frequency') f;
CREATE VIEW stack_timing AS
    SELECT s.name AS function, k.depth, t.calls, t.min, t.median, t.p90, t.p99, t.max, t.sum, t.sum_self,
           t.min / f.hz AS min_s, t.median / f.hz AS median_s, t.p90 / f.hz AS p90_s, t.p99 / f.hz AS p99_s, t.max / f.hz AS max_s,
           t.sum / f.hz AS sum_s, t.sum_self / f.hz AS sum_self_s, k.function_id, k.stack_id, k.parent_stack_id
    FROM stack_time t JOIN call_stack k USING (stack_id) JOIN function_symbol s ON s.function_id = k.function_id,
         (SELECT CAST(max(value) AS DOUBLE) AS hz FROM meta WHERE key = 'cycle_frequency') f;

COMMENT ON TABLE call_event_row IS 'Entries and exits of functions as stored; see the view call_event';
COMMENT ON COLUMN call_event_row.event_no IS 'Numbers all records of entries, exits and data from 1, in the order of their times';
COMMENT ON COLUMN call_event_row.thread_id IS 'Thread';
COMMENT ON COLUMN call_event_row.time IS 'Clock, ticks';
COMMENT ON COLUMN call_event_row.cpu IS 'Processor';
COMMENT ON COLUMN call_event_row.kind IS '0 entry, 1 exit, 2 exit by a tail call';
COMMENT ON COLUMN call_event_row.function_id IS 'Function that is entered or left';
COMMENT ON VIEW call_event IS 'Entries and exits of functions as the trace has them. event_no is in the order of times; time is in ticks; kind is enter, exit or tail exit';
COMMENT ON TABLE trace_event IS 'Custom and typed events that the program itself wrote into the trace';
COMMENT ON COLUMN trace_event.event_no IS 'As in call_event';
COMMENT ON COLUMN trace_event.thread_id IS 'Thread';
COMMENT ON COLUMN trace_event.time IS 'Clock, ticks';
COMMENT ON COLUMN trace_event.cpu IS 'Processor';
COMMENT ON COLUMN trace_event.kind IS 'custom or typed';
COMMENT ON COLUMN trace_event.type IS 'Number of its type, NULL for custom events';
COMMENT ON COLUMN trace_event.size IS 'Bytes';
COMMENT ON COLUMN trace_event.data IS 'Data that the program wrote';
COMMENT ON COLUMN trace_event.call_id IS 'Innermost live call instance of the thread, NULL outside of calls';
COMMENT ON TABLE call_argument IS 'Arguments of calls, where the trace has them';
COMMENT ON COLUMN call_argument.call_id IS 'Call instance';
COMMENT ON COLUMN call_argument.ordinal IS 'Place among the recorded arguments, from 0';
COMMENT ON COLUMN call_argument.value IS 'The register, of any type';
COMMENT ON TABLE call_record IS 'Which records of the trace call instances were made of, and how long they took';
COMMENT ON COLUMN call_record.call_id IS 'Call instance';
COMMENT ON COLUMN call_record.call_event IS 'event_no of its entry, NULL: not in the trace';
COMMENT ON COLUMN call_record.return_event IS 'event_no of the exit that ended it, NULL: live at the end';
COMMENT ON COLUMN call_record.stack_id IS 'Calling context, NULL where the entry is not in the trace';
COMMENT ON COLUMN call_record.ticks IS 'From entry to exit, NULL if either is missing or the clock went back';
COMMENT ON COLUMN call_record.ticks_self IS 'Of those the ticks while it was the innermost call of its thread';
COMMENT ON TABLE trace_function IS 'Numbers that the trace has for functions';
COMMENT ON COLUMN trace_function.function_id IS 'Function';
COMMENT ON COLUMN trace_function.number IS 'Its number in the instrumentation map';
COMMENT ON TABLE stack_ticks IS 'How often calls took how long, by calling context; a duration may have several rows';
COMMENT ON COLUMN stack_ticks.stack_id IS 'Calling context';
COMMENT ON COLUMN stack_ticks.ticks IS 'From entry to exit, NULL as in call_record';
COMMENT ON COLUMN stack_ticks.calls IS 'Calls';
COMMENT ON COLUMN stack_ticks.ticks_self IS 'Ticks while they were the innermost calls of their threads, summed';
COMMENT ON TABLE stack_time IS 'Durations of calls by calling context, in ticks; see the view stack_timing';
COMMENT ON COLUMN stack_time.stack_id IS 'Calling context';
COMMENT ON COLUMN stack_time.calls IS 'Calls whose duration is known';
COMMENT ON COLUMN stack_time.min IS 'Shortest';
COMMENT ON COLUMN stack_time.median IS 'Of the durations in ascending order, numbered from 0, the one at floor(calls / 2)';
COMMENT ON COLUMN stack_time.p90 IS 'The one at floor(calls * 0.9)';
COMMENT ON COLUMN stack_time.p99 IS 'The one at floor(calls * 0.99)';
COMMENT ON COLUMN stack_time.max IS 'Longest';
COMMENT ON COLUMN stack_time.sum IS 'All';
COMMENT ON COLUMN stack_time.sum_self IS 'All without the calls inside them, those without known duration included';
COMMENT ON TABLE function_time IS 'Durations of calls by function, in ticks; see the view call_timing';
COMMENT ON COLUMN function_time.function_id IS 'Function';
COMMENT ON COLUMN function_time.calls IS 'Calls whose duration is known';
COMMENT ON COLUMN function_time.min IS 'Shortest';
COMMENT ON COLUMN function_time.median IS 'Of the durations in ascending order, numbered from 0, the one at floor(calls / 2)';
COMMENT ON COLUMN function_time.p90 IS 'The one at floor(calls * 0.9)';
COMMENT ON COLUMN function_time.p99 IS 'The one at floor(calls * 0.99)';
COMMENT ON COLUMN function_time.max IS 'Longest';
COMMENT ON COLUMN function_time.sum IS 'All; a call inside one of the same function counts in both';
COMMENT ON COLUMN function_time.sum_self IS 'All without the calls inside them, those without known duration included';
COMMENT ON COLUMN function_time.sum_outermost IS 'Those that are not inside another call of the function';
COMMENT ON VIEW call_timing IS 'Durations of calls by function, as in llvm-xray account: count, min, median, p90, p99, max, sum, in ticks and (_s) in seconds. sum_self is without the calls inside; sum_outermost counts recursion once';
COMMENT ON VIEW stack_timing IS 'Durations of calls by calling context: as call_timing; parent_stack_id leads to the caller''s context';
