-- PLT stubs, veneers and IFUNC resolvers merged into their callers, as graphs draw them. An instance of a stub function belongs to its
-- nearest caller that is not a stub. Sums that were made while the program ran do not tell them (docs/sums.md): there nothing is merged.
CREATE TABLE folded_call_row (
    call_id INTEGER NOT NULL, function_id INTEGER NOT NULL, into_call_id INTEGER NOT NULL, into_function_id INTEGER NOT NULL,
    steps_self BIGINT);
CREATE VIEW folded_call AS SELECT * FROM folded_call_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
-- What a stub wrote in vain is known for all its callers together only, so dead_bytes and written_bytes are left to function_profile.
CREATE TABLE function_profile_folded (function_id INTEGER NOT NULL, calls BIGINT, steps_self BIGINT, steps_total BIGINT);
-- unique_bytes and addresses are NULL where something was merged: they are no sums of what the parts had.
CREATE TABLE function_edge_folded (
    writer_function_id INTEGER NOT NULL, reader_function_id INTEGER NOT NULL, via VARCHAR, bytes BIGINT,
    unique_bytes BIGINT, addresses BIGINT, transfers BIGINT);
CREATE TABLE call_edge_folded (
    caller_function_id INTEGER, callee_function_id INTEGER NOT NULL, kind VARCHAR NOT NULL, calls BIGINT NOT NULL, steps BIGINT);
-- The largest call instances and what goes between them, so that the view of instances need not go through all of them. Nodes are
-- call_id, the negative function_id of a pseudo-function, or 0 for all other instances.
CREATE TABLE top_call_row (
    call_id INTEGER NOT NULL, function_id INTEGER NOT NULL, instance INTEGER NOT NULL, steps_self BIGINT, steps_total BIGINT,
    share DOUBLE);
CREATE VIEW top_call AS SELECT * FROM top_call_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE top_dataflow_row (
    writer BIGINT NOT NULL, reader BIGINT NOT NULL, via VARCHAR, bytes BIGINT, unique_bytes BIGINT, transfers BIGINT);
CREATE VIEW top_dataflow AS SELECT * FROM top_dataflow_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE top_call_edge_row (caller BIGINT NOT NULL, callee BIGINT NOT NULL, calls BIGINT NOT NULL, steps BIGINT);
CREATE VIEW top_call_edge AS SELECT * FROM top_call_edge_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);

COMMENT ON TABLE folded_call_row IS 'The rows of folded_call';
COMMENT ON VIEW folded_call IS 'Instances of stub functions and the call instance that each is merged into: itself where it has no caller';
COMMENT ON COLUMN folded_call_row.call_id IS 'Stub instance';
COMMENT ON COLUMN folded_call_row.function_id IS 'Its function';
COMMENT ON COLUMN folded_call_row.into_call_id IS 'Instance that it is merged into';
COMMENT ON COLUMN folded_call_row.into_function_id IS 'Function of that';
COMMENT ON COLUMN folded_call_row.steps_self IS 'Steps of the stub instance itself';
COMMENT ON TABLE function_profile_folded IS 'function_profile with stubs merged into their callers';
COMMENT ON COLUMN function_profile_folded.function_id IS 'Function';
COMMENT ON COLUMN function_profile_folded.calls IS 'Call instances';
COMMENT ON COLUMN function_profile_folded.steps_self IS 'Steps in its instances and in the stubs merged into them';
COMMENT ON COLUMN function_profile_folded.steps_total IS 'Inclusive steps; NULL for a stub function that was merged only in part';
COMMENT ON TABLE function_edge_folded IS 'function_edge with stubs merged into their callers';
COMMENT ON COLUMN function_edge_folded.writer_function_id IS 'Function that wrote';
COMMENT ON COLUMN function_edge_folded.reader_function_id IS 'Function that read';
COMMENT ON COLUMN function_edge_folded.via IS 'register, stack, heap, global, constant, mmio, other';
COMMENT ON COLUMN function_edge_folded.bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN function_edge_folded.unique_bytes IS 'Distinct (byte, write) pairs per reading instance; NULL where a stub was merged';
COMMENT ON COLUMN function_edge_folded.addresses IS 'Distinct cells; NULL where a stub was merged';
COMMENT ON COLUMN function_edge_folded.transfers IS 'Distinct (write access, read access) pairs';
COMMENT ON TABLE call_edge_folded IS 'call_edge with stubs merged into their callers';
COMMENT ON COLUMN call_edge_folded.caller_function_id IS 'Function that called, NULL for a root';
COMMENT ON COLUMN call_edge_folded.callee_function_id IS 'Function that was called';
COMMENT ON COLUMN call_edge_folded.kind IS 'Kind of the callee instances';
COMMENT ON COLUMN call_edge_folded.calls IS 'Instances';
COMMENT ON COLUMN call_edge_folded.steps IS 'Their steps with all below them';
COMMENT ON TABLE top_call_row IS 'The rows of top_call';
COMMENT ON VIEW top_call IS 'The call instances with the largest shares of the run, stubs merged into their callers';
COMMENT ON COLUMN top_call_row.call_id IS 'Call instance';
COMMENT ON COLUMN top_call_row.function_id IS 'Its function';
COMMENT ON COLUMN top_call_row.instance IS 'Its number among the instances of the function';
COMMENT ON COLUMN top_call_row.steps_self IS 'Steps in it and in the stubs merged into it';
COMMENT ON COLUMN top_call_row.steps_total IS 'Steps in it and all its descendants';
COMMENT ON COLUMN top_call_row.share IS 'Of the run, 0 to 1: the largest of its bytes read of others, its own steps, and a tenth of all steps below it';
COMMENT ON TABLE top_dataflow_row IS 'The rows of top_dataflow';
COMMENT ON VIEW top_dataflow IS 'dataflow between top_call, pseudo-functions and all the rest';
COMMENT ON COLUMN top_dataflow_row.writer IS 'call_id, negative function_id of a pseudo-function, or 0: all other instances';
COMMENT ON COLUMN top_dataflow_row.reader IS 'call_id, or 0: all other instances';
COMMENT ON COLUMN top_dataflow_row.via IS 'register, stack, heap, global, constant, mmio, other';
COMMENT ON COLUMN top_dataflow_row.bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN top_dataflow_row.unique_bytes IS 'Distinct (byte, write) pairs per reading instance; NULL where something was merged';
COMMENT ON COLUMN top_dataflow_row.transfers IS 'Distinct (write access, read access) pairs';
COMMENT ON TABLE top_call_edge_row IS 'The rows of top_call_edge';
COMMENT ON VIEW top_call_edge IS 'Calls between top_call and all the rest';
COMMENT ON COLUMN top_call_edge_row.caller IS 'call_id, or 0: all other instances';
COMMENT ON COLUMN top_call_edge_row.callee IS 'call_id, or 0: all other instances';
COMMENT ON COLUMN top_call_edge_row.calls IS 'Calls';
COMMENT ON COLUMN top_call_edge_row.steps IS 'Steps of the callees with all below them';
