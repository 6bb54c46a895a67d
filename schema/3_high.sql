-- High level: control flow by interval, data flow by call instance and by function.
CREATE TABLE control_flow (
    interval_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, call_id INTEGER NOT NULL, function_id INTEGER NOT NULL,
    start_seq BIGINT, end_seq BIGINT, start_time UBIGINT, end_time UBIGINT);
-- writer_call_id NULL: bytes that no step wrote, from the pseudo-function writer_function_id.
CREATE TABLE dataflow (
    writer_call_id INTEGER, reader_call_id INTEGER NOT NULL, writer_function_id INTEGER NOT NULL, reader_function_id INTEGER NOT NULL,
    via VARCHAR NOT NULL, bytes BIGINT NOT NULL, unique_bytes BIGINT, transfers BIGINT);
CREATE TABLE function_edge (
    writer_function_id INTEGER NOT NULL, reader_function_id INTEGER NOT NULL, via VARCHAR NOT NULL, bytes BIGINT NOT NULL,
    unique_bytes BIGINT, addresses BIGINT, transfers BIGINT);
-- Dataflow between instructions: what line, block and loop views add up. writer_instruction_id NULL as in dataflow.
CREATE TABLE instruction_edge (
    writer_instruction_id INTEGER, reader_instruction_id INTEGER NOT NULL, writer_function_id INTEGER NOT NULL,
    via VARCHAR NOT NULL, bytes BIGINT NOT NULL, transfers BIGINT NOT NULL);
CREATE TABLE call_edge (
    caller_function_id INTEGER, callee_function_id INTEGER NOT NULL, kind VARCHAR NOT NULL, calls BIGINT NOT NULL,
    steps BIGINT);
CREATE TABLE function_profile (
    function_id INTEGER NOT NULL, calls BIGINT NOT NULL, steps_self BIGINT, steps_total BIGINT, dead_bytes BIGINT, written_bytes BIGINT);
CREATE TABLE region (first_address UBIGINT NOT NULL, last_address UBIGINT NOT NULL, via VARCHAR NOT NULL);
CREATE VIEW function_dataflow AS
    SELECT w.name AS writer, r.name AS reader, e.via, e.bytes, e.unique_bytes, e.addresses, e.transfers,
           e.writer_function_id, e.reader_function_id
    FROM function_edge e JOIN function_symbol w ON w.function_id = e.writer_function_id
    JOIN function_symbol r ON r.function_id = e.reader_function_id;
CREATE VIEW call_graph AS
    SELECT c.name AS caller, f.name AS callee, e.kind, e.calls, e.steps, e.caller_function_id, e.callee_function_id
    FROM call_edge e LEFT JOIN function_symbol c ON c.function_id = e.caller_function_id
    JOIN function_symbol f ON f.function_id = e.callee_function_id;
