-- PLT stubs, veneers and IFUNC resolvers merged into their callers: what graphs draw. An instance of a stub function belongs to the
-- nearest caller that is none. Needs call instances: at detail summary nothing is merged.
CREATE TABLE folded_call (
    call_id INTEGER NOT NULL, function_id INTEGER NOT NULL, into_call_id INTEGER NOT NULL, into_function_id INTEGER NOT NULL,
    steps_self BIGINT);
-- What a stub wrote in vain is known for all its callers together only, so dead_bytes and written_bytes are left to function_profile.
CREATE TABLE function_profile_folded (function_id INTEGER NOT NULL, calls BIGINT, steps_self BIGINT, steps_total BIGINT);
-- unique_bytes and addresses are NULL where something was merged: they are no sums of what the parts had.
CREATE TABLE function_edge_folded (
    writer_function_id INTEGER NOT NULL, reader_function_id INTEGER NOT NULL, via VARCHAR, bytes BIGINT,
    unique_bytes BIGINT, addresses BIGINT, transfers BIGINT);
CREATE TABLE call_edge_folded (
    caller_function_id INTEGER, callee_function_id INTEGER NOT NULL, kind VARCHAR NOT NULL, calls BIGINT NOT NULL, steps BIGINT);

COMMENT ON TABLE folded_call IS 'Instances of stub functions and the call instance that each is merged into: itself where it has no caller';
COMMENT ON COLUMN folded_call.call_id IS 'Stub instance';
COMMENT ON COLUMN folded_call.function_id IS 'Its function';
COMMENT ON COLUMN folded_call.into_call_id IS 'Instance that it is merged into';
COMMENT ON COLUMN folded_call.into_function_id IS 'Function of that';
COMMENT ON COLUMN folded_call.steps_self IS 'Steps of the stub instance itself';
COMMENT ON TABLE function_profile_folded IS 'function_profile with stubs merged into their callers';
COMMENT ON COLUMN function_profile_folded.function_id IS 'Function';
COMMENT ON COLUMN function_profile_folded.calls IS 'Call instances';
COMMENT ON COLUMN function_profile_folded.steps_self IS 'Steps in its instances and in the stubs merged into them';
COMMENT ON COLUMN function_profile_folded.steps_total IS 'Inclusive steps; NULL for a stub function of which only a part was merged';
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
