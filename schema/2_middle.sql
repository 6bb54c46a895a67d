-- Middle level: call instances and write -> read communications.
CREATE TABLE function_call_row (
    call_id INTEGER NOT NULL, function_id INTEGER NOT NULL, instance INTEGER NOT NULL, parent_call_id INTEGER,
    tail_of_call_id INTEGER, thread_id INTEGER NOT NULL, depth INTEGER NOT NULL, kind VARCHAR NOT NULL, ending VARCHAR NOT NULL,
    call_seq BIGINT, return_seq BIGINT, call_time UBIGINT, return_time UBIGINT, call_instruction_id INTEGER,
    steps_self BIGINT, steps_total BIGINT, bytes_in BIGINT);
CREATE VIEW function_call AS SELECT * FROM function_call_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
-- communication is a view over these: the write as a distance back from the read compresses better, and what is the same in millions
-- of rows stands once.
CREATE TABLE communication_kind (
    kind_id INTEGER NOT NULL, read_ordinal USMALLINT NOT NULL, write_ordinal USMALLINT, is_register BOOLEAN NOT NULL,
    bytes UINTEGER NOT NULL);
CREATE TABLE communication_row (read_seq BIGINT NOT NULL, write_back BIGINT, kind_id INTEGER NOT NULL, address UBIGINT NOT NULL);
CREATE VIEW lacks_communications AS
    SELECT CAST(error(CASE WHEN EXISTS (SELECT 1 FROM run_code) THEN 'this run is packed, and its communications are not in the file as rows: addfg rows DB makes them, of a part with --range or --functions; addfg sql DB makes those that a statement names; in other programs addfg.duckdb_extension has functions that read the run (addfg_steps, addfg_accesses, addfg_communications, addfg_calls_of)' ELSE 'this database has sums only, as it was made with --no-steps or with --detail summary, and no communications: record or build it again without' END) AS BOOLEAN) AS no FROM meta
    WHERE key = 'detail' AND value IN ('summary', 'instance') AND NOT EXISTS (SELECT 1 FROM communication_row)
        AND EXISTS (SELECT 1 FROM run_code UNION ALL SELECT 1 FROM meta WHERE key = 'longest_block');
CREATE VIEW communication AS
    SELECT c.read_seq - c.write_back AS write_seq, k.write_ordinal, c.read_seq, k.read_ordinal,
           CASE WHEN k.is_register THEN 'register' ELSE 'memory' END AS space, c.address, k.bytes
    FROM communication_row c JOIN communication_kind k ON k.kind_id = c.kind_id
    WHERE NOT EXISTS (SELECT 1 FROM lacks_communications WHERE no);
CREATE TABLE saved_register_row (
    call_id INTEGER NOT NULL, save_seq BIGINT NOT NULL, save_ordinal USMALLINT NOT NULL, register_address UINTEGER NOT NULL,
    bytes UINTEGER NOT NULL, address UBIGINT NOT NULL, restore_seq BIGINT, restores INTEGER NOT NULL, exposed_seq BIGINT);
CREATE VIEW saved_register AS SELECT * FROM saved_register_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);


COMMENT ON VIEW lacks_communications IS 'As lacks_calls, of communications';
COMMENT ON TABLE function_call_row IS 'The rows of function_call';
COMMENT ON VIEW function_call IS 'Call instances';
COMMENT ON COLUMN function_call_row.call_id IS 'Dense from 1 in order of first step';
COMMENT ON COLUMN function_call_row.function_id IS 'Function';
COMMENT ON COLUMN function_call_row.instance IS 'Number among the instances of the function, from 1';
COMMENT ON COLUMN function_call_row.parent_call_id IS 'Instance that called it, NULL for a root';
COMMENT ON COLUMN function_call_row.tail_of_call_id IS 'Instance that it replaced (tail)';
COMMENT ON COLUMN function_call_row.thread_id IS 'Thread';
COMMENT ON COLUMN function_call_row.depth IS 'Number of ancestors';
COMMENT ON COLUMN function_call_row.kind IS 'call, tail, signal, root, stub, gap, fork';
COMMENT ON COLUMN function_call_row.ending IS 'return, tail, unwound (skipped by a return, `longjmp` or an exception), open (alive at the end)';
COMMENT ON COLUMN function_call_row.call_seq IS 'First step, inclusive';
COMMENT ON COLUMN function_call_row.return_seq IS 'Last step, inclusive';
COMMENT ON COLUMN function_call_row.call_time IS 'Clock of the first step';
COMMENT ON COLUMN function_call_row.return_time IS 'Clock of the last step';
COMMENT ON COLUMN function_call_row.call_instruction_id IS 'Instruction that called';
COMMENT ON COLUMN function_call_row.steps_self IS 'Steps in it';
COMMENT ON COLUMN function_call_row.steps_total IS 'Steps in it and all its descendants';
COMMENT ON COLUMN function_call_row.bytes_in IS 'Bytes that it read and did not write itself; NULL where the trace has no data';
COMMENT ON TABLE communication_kind IS 'Properties that communications share';
COMMENT ON COLUMN communication_kind.kind_id IS 'Dense from 1 in order of first use';
COMMENT ON COLUMN communication_kind.read_ordinal IS 'Ordinal of the read access';
COMMENT ON COLUMN communication_kind.write_ordinal IS 'Ordinal of the write access, NULL if no step wrote the bytes';
COMMENT ON COLUMN communication_kind.is_register IS 'Register space, else memory';
COMMENT ON COLUMN communication_kind.bytes IS 'Adjacent bytes';
COMMENT ON TABLE communication_row IS 'Communications as stored; see the view communication';
COMMENT ON COLUMN communication_row.read_seq IS 'Step of the read';
COMMENT ON COLUMN communication_row.write_back IS 'Steps from the write to the read, NULL if no step wrote the bytes';
COMMENT ON COLUMN communication_row.kind_id IS 'Its other properties';
COMMENT ON COLUMN communication_row.address IS 'First byte';
COMMENT ON TABLE saved_register_row IS 'The rows of saved_register';
COMMENT ON VIEW saved_register IS 'Registers saved to the frame by functions';
COMMENT ON COLUMN saved_register_row.call_id IS 'Instance that saved';
COMMENT ON COLUMN saved_register_row.save_seq IS 'Step of the save';
COMMENT ON COLUMN saved_register_row.save_ordinal IS 'Ordinal of its memory write';
COMMENT ON COLUMN saved_register_row.register_address IS 'Register, in the register space';
COMMENT ON COLUMN saved_register_row.bytes IS 'Bytes saved';
COMMENT ON COLUMN saved_register_row.address IS 'Where to';
COMMENT ON COLUMN saved_register_row.restore_seq IS 'Step of the last transparent restore, NULL if none';
COMMENT ON COLUMN saved_register_row.restores IS 'Transparent restores';
COMMENT ON COLUMN saved_register_row.exposed_seq IS 'Step of the read that made it an ordinary store, NULL if none';
COMMENT ON VIEW communication IS 'Adjacent bytes that one write access made and one read access read: write_seq, write_ordinal (NULL: no step wrote them), read_seq, read_ordinal, space, address, bytes';
