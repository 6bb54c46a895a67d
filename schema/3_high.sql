-- High level: control flow by interval, data flow by call instance and by function.
CREATE TABLE control_flow_row (
    interval_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, call_id INTEGER NOT NULL, function_id INTEGER NOT NULL,
    start_seq BIGINT, end_seq BIGINT, start_time UBIGINT, end_time UBIGINT);
CREATE VIEW control_flow AS SELECT * FROM control_flow_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
-- dataflow is a view over this: what a place is to via, and so who wrote what no step did, is known when the trace has ended.
CREATE TABLE dataflow_row (
    writer_call_id INTEGER, reader_call_id INTEGER NOT NULL, writer_function_id INTEGER, reader_function_id INTEGER NOT NULL,
    place_id UINTEGER NOT NULL, bytes BIGINT NOT NULL, unique_bytes BIGINT, transfers BIGINT);
CREATE TABLE place (place_id UINTEGER NOT NULL, via VARCHAR NOT NULL, function_id INTEGER);
-- writer_call_id NULL: bytes that no step wrote, from the pseudo-function writer_function_id.
CREATE VIEW dataflow AS
    SELECT d.writer_call_id, d.reader_call_id, coalesce(d.writer_function_id, p.function_id) AS writer_function_id,
           d.reader_function_id, p.via, d.bytes, d.unique_bytes, d.transfers
    FROM dataflow_row d JOIN place p USING (place_id) WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE function_edge (
    writer_function_id INTEGER NOT NULL, reader_function_id INTEGER NOT NULL, via VARCHAR, bytes BIGINT,
    unique_bytes BIGINT, addresses BIGINT, transfers BIGINT);
-- Dataflow between instructions: what line, block and loop views add up. writer_instruction_id NULL as in dataflow.
CREATE TABLE instruction_edge_row (
    writer_instruction_id INTEGER, reader_instruction_id INTEGER NOT NULL, writer_function_id INTEGER NOT NULL,
    via VARCHAR, bytes BIGINT, transfers BIGINT NOT NULL);
CREATE VIEW instruction_edge AS SELECT * FROM instruction_edge_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE call_edge (
    caller_function_id INTEGER, callee_function_id INTEGER NOT NULL, kind VARCHAR NOT NULL, calls BIGINT NOT NULL,
    steps BIGINT);
CREATE TABLE function_profile (
    function_id INTEGER NOT NULL, calls BIGINT, steps_self BIGINT, steps_total BIGINT, dead_bytes BIGINT, written_bytes BIGINT);
-- Calling contexts, and what they cost where the trace has steps: there stubs are merged into their callers, a chain has at most
-- 1000 functions, and what deeper ones call counts as theirs.
CREATE TABLE call_stack (
    stack_id INTEGER NOT NULL, parent_stack_id INTEGER, function_id INTEGER NOT NULL, depth INTEGER NOT NULL, nested BOOLEAN NOT NULL);
CREATE TABLE stack_profile (stack_id INTEGER NOT NULL, calls BIGINT NOT NULL, steps_self BIGINT NOT NULL, steps_total BIGINT NOT NULL);
-- Data between calling contexts: for whom functions work that everybody calls. Of a recursion each function is in the chain where it was
-- called last, so that it has not as many contexts as it is deep; of several stacks that are the same then the first.
CREATE TABLE stack_edge (
    writer_stack_id INTEGER, reader_stack_id INTEGER, writer_function_id INTEGER NOT NULL, reader_function_id INTEGER NOT NULL,
    via VARCHAR NOT NULL, bytes BIGINT NOT NULL, unique_bytes BIGINT, transfers BIGINT NOT NULL);
-- What is left out where a person asks for the program: hot functions, plans, loops.
CREATE TABLE start_up (function_id INTEGER NOT NULL, steps BIGINT NOT NULL, entirely BOOLEAN NOT NULL);
CREATE VIEW start_up_function AS
    SELECT function_id FROM start_up WHERE entirely
    UNION ALL SELECT function_id FROM function_symbol WHERE kind = 'stub' AND owner IN ('runtime', 'linker');
CREATE TABLE region (first_address UBIGINT NOT NULL, last_address UBIGINT NOT NULL, via VARCHAR NOT NULL);
CREATE VIEW function_dataflow AS
    SELECT w.name AS writer, r.name AS reader, e.via, e.bytes, e.unique_bytes, e.addresses, e.transfers,
           e.writer_function_id, e.reader_function_id
    FROM function_edge e JOIN function_symbol w ON w.function_id = e.writer_function_id
    JOIN function_symbol r ON r.function_id = e.reader_function_id;
-- function_profile where a person looks: with names, and what goes between a function and all others.
CREATE VIEW flat_profile AS
    SELECT f.name AS function, s.path AS file, p.calls, p.steps_self, p.steps_total,
           CASE WHEN d.known > 0 THEN coalesce(r.bytes, 0) END AS bytes_in,
           CASE WHEN d.known > 0 THEN coalesce(w.bytes, 0) END AS bytes_out,
           p.written_bytes, p.dead_bytes, f.kind, p.function_id
    FROM function_profile p JOIN function_symbol f ON f.function_id = p.function_id
    LEFT JOIN source_file s ON s.file_id = f.file_id
    LEFT JOIN (SELECT reader_function_id AS function_id, CAST(sum(bytes) AS BIGINT) AS bytes FROM function_edge
               WHERE writer_function_id <> reader_function_id GROUP BY reader_function_id) r ON r.function_id = p.function_id
    LEFT JOIN (SELECT writer_function_id AS function_id, CAST(sum(bytes) AS BIGINT) AS bytes FROM function_edge
               WHERE writer_function_id <> reader_function_id GROUP BY writer_function_id) w ON w.function_id = p.function_id
    CROSS JOIN (SELECT count(bytes) AS known FROM function_edge) d;
CREATE VIEW call_graph AS
    SELECT c.name AS caller, f.name AS callee, e.kind, e.calls, e.steps, e.caller_function_id, e.callee_function_id
    FROM call_edge e LEFT JOIN function_symbol c ON c.function_id = e.caller_function_id
    JOIN function_symbol f ON f.function_id = e.callee_function_id;

COMMENT ON TABLE control_flow_row IS 'The rows of control_flow';
COMMENT ON VIEW control_flow IS 'Intervals: longest runs of steps of a thread in one call instance';
COMMENT ON COLUMN control_flow_row.interval_id IS 'Dense from 1 in order of first step';
COMMENT ON COLUMN control_flow_row.thread_id IS 'Thread';
COMMENT ON COLUMN control_flow_row.call_id IS 'Call instance';
COMMENT ON COLUMN control_flow_row.function_id IS 'Its function';
COMMENT ON COLUMN control_flow_row.start_seq IS 'First step, inclusive';
COMMENT ON COLUMN control_flow_row.end_seq IS 'Last step, inclusive';
COMMENT ON COLUMN control_flow_row.start_time IS 'Clock of the first step';
COMMENT ON COLUMN control_flow_row.end_time IS 'Clock of the last step';
COMMENT ON VIEW dataflow IS 'Dataflow between call instances by via (register, stack, heap, global, constant, mmio, other), also of an instance with itself. Figures: bytes, unique_bytes (distinct (byte, write) pairs), transfers (distinct (write access, read access) pairs). writer_call_id NULL: no step wrote, writer_function_id is a pseudo-function';
COMMENT ON TABLE dataflow_row IS 'Dataflow between call instances as stored; see the view dataflow';
COMMENT ON COLUMN dataflow_row.writer_call_id IS 'Instance that wrote, NULL if no step wrote';
COMMENT ON COLUMN dataflow_row.reader_call_id IS 'Instance that read';
COMMENT ON COLUMN dataflow_row.writer_function_id IS 'Its function, NULL if no step wrote';
COMMENT ON COLUMN dataflow_row.reader_function_id IS 'Function of the reader';
COMMENT ON COLUMN dataflow_row.place_id IS 'Through what, see place';
COMMENT ON COLUMN dataflow_row.bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN dataflow_row.unique_bytes IS 'Distinct (byte, write) pairs';
COMMENT ON COLUMN dataflow_row.transfers IS 'Distinct (write access, read access) pairs';
COMMENT ON TABLE place IS 'Kinds of storage that data flowed through';
COMMENT ON COLUMN place.place_id IS 'Dense from 1';
COMMENT ON COLUMN place.via IS 'register, stack, heap, global, constant, mmio, other';
COMMENT ON COLUMN place.function_id IS 'Pseudo-function that wrote what no step wrote, NULL for bytes that steps wrote';
COMMENT ON TABLE function_edge IS 'Dataflow between functions by via; see the view function_dataflow';
COMMENT ON COLUMN function_edge.writer_function_id IS 'Function that wrote';
COMMENT ON COLUMN function_edge.reader_function_id IS 'Function that read';
COMMENT ON COLUMN function_edge.via IS 'register, stack, heap, global, constant; NULL if not known';
COMMENT ON COLUMN function_edge.bytes IS 'Bytes read, each read counted; NULL where the trace has dependences without sizes';
COMMENT ON COLUMN function_edge.unique_bytes IS 'Distinct (byte, write) pairs per reading instance, summed';
COMMENT ON COLUMN function_edge.addresses IS 'Distinct bytes of storage';
COMMENT ON COLUMN function_edge.transfers IS 'Distinct (write access, read access) pairs; dependences of instances where the trace has those';
COMMENT ON TABLE instruction_edge_row IS 'The rows of instruction_edge';
COMMENT ON VIEW instruction_edge IS 'Dataflow between instructions by via; none at detail summary';
COMMENT ON COLUMN instruction_edge_row.writer_instruction_id IS 'Instruction that wrote, NULL if no step wrote';
COMMENT ON COLUMN instruction_edge_row.reader_instruction_id IS 'Instruction that read';
COMMENT ON COLUMN instruction_edge_row.writer_function_id IS 'Function of the writer, or the pseudo-function';
COMMENT ON COLUMN instruction_edge_row.via IS 'register, stack, heap, global, constant; NULL if not known';
COMMENT ON COLUMN instruction_edge_row.bytes IS 'Bytes read, each read counted; NULL where the trace has dependences without sizes';
COMMENT ON COLUMN instruction_edge_row.transfers IS 'Distinct (write access, read access) pairs; dependences of instances where the trace has those';
COMMENT ON TABLE call_edge IS 'Calls by function pair; see the view call_graph';
COMMENT ON COLUMN call_edge.caller_function_id IS 'Function of the parent, NULL for roots';
COMMENT ON COLUMN call_edge.callee_function_id IS 'Function of the instance';
COMMENT ON COLUMN call_edge.kind IS 'call, tail, signal, root, stub, gap, fork';
COMMENT ON COLUMN call_edge.calls IS 'Instances';
COMMENT ON COLUMN call_edge.steps IS 'Sum of steps_total of the instances';
COMMENT ON TABLE function_profile IS 'Sums of a function over its instances';
COMMENT ON COLUMN function_profile.function_id IS 'The function';
COMMENT ON COLUMN function_profile.calls IS 'Instances, NULL if not known';
COMMENT ON COLUMN function_profile.steps_self IS 'Steps in it';
COMMENT ON COLUMN function_profile.steps_total IS 'Inclusive steps over the instances without an ancestor of the same function';
COMMENT ON COLUMN function_profile.dead_bytes IS 'Bytes written to memory that were overwritten or left unread; return addresses and saves do not count';
COMMENT ON COLUMN function_profile.written_bytes IS 'Bytes written to memory';
COMMENT ON TABLE call_stack IS 'Calling contexts as a tree';
COMMENT ON COLUMN call_stack.stack_id IS 'Dense from 1 in order of first appearance';
COMMENT ON COLUMN call_stack.parent_stack_id IS 'Context of the caller, NULL: none';
COMMENT ON COLUMN call_stack.function_id IS 'Innermost function';
COMMENT ON COLUMN call_stack.depth IS 'Number of ancestors';
COMMENT ON COLUMN call_stack.nested IS 'The function is among the ancestors, too';
COMMENT ON TABLE stack_profile IS 'Costs of calling contexts, threads together';
COMMENT ON COLUMN stack_profile.stack_id IS 'Context';
COMMENT ON COLUMN stack_profile.calls IS 'Calls with this chain of functions';
COMMENT ON COLUMN stack_profile.steps_self IS 'Steps of these calls without those of what they call';
COMMENT ON COLUMN stack_profile.steps_total IS 'Steps with those of what they call';
COMMENT ON TABLE stack_edge IS 'Data between calling contexts, stubs merged into their callers; of traces with steps';
COMMENT ON COLUMN stack_edge.writer_stack_id IS 'Context that wrote: of those with the same functions, each where it was called last, the first. NULL: no step wrote, or there are more contexts than are kept';
COMMENT ON COLUMN stack_edge.reader_stack_id IS 'Context that read; NULL: the kernel, or there are more contexts than are kept';
COMMENT ON COLUMN stack_edge.writer_function_id IS 'Function that wrote';
COMMENT ON COLUMN stack_edge.reader_function_id IS 'Function that read';
COMMENT ON COLUMN stack_edge.via IS 'register, stack, heap, global, constant, mmio, other';
COMMENT ON COLUMN stack_edge.bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN stack_edge.unique_bytes IS 'Distinct (byte, write) pairs per reading instance, that of a stub by itself';
COMMENT ON COLUMN stack_edge.transfers IS 'Distinct (write access, read access) pairs';
COMMENT ON TABLE start_up IS 'Steps outside of the program: start-up and end that no function of the program called, and the dynamic linker; of traces with steps';
COMMENT ON COLUMN start_up.function_id IS 'Function';
COMMENT ON COLUMN start_up.steps IS 'Steps of it there';
COMMENT ON COLUMN start_up.entirely IS 'It has no others';
COMMENT ON VIEW start_up_function IS 'Functions that @hot_functions, @dead_writes, plan and loops leave out: those of start_up that have no other steps, and the stubs of run-time systems';
COMMENT ON TABLE region IS 'Touched pages outside of image sections, joined where adjacent';
COMMENT ON COLUMN region.first_address IS 'First byte';
COMMENT ON COLUMN region.last_address IS 'Last byte, inclusive';
COMMENT ON COLUMN region.via IS 'stack or heap';
COMMENT ON VIEW function_dataflow IS 'Dataflow between functions by name and id, by via';
COMMENT ON VIEW call_graph IS 'Calls by name and id of caller and callee';
COMMENT ON VIEW flat_profile IS 'Functions that ran with their names: function_profile for people';
