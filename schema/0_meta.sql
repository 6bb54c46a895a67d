-- Properties of the database, and its inputs.
CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR);
CREATE TABLE input (
    input_id INTEGER NOT NULL, role VARCHAR NOT NULL, path VARCHAR, format VARCHAR, size UBIGINT, hash VARCHAR, options VARCHAR,
    carries_calls BOOLEAN, carries_accesses BOOLEAN, carries_registers BOOLEAN, carries_values BOOLEAN, carries_time BOOLEAN,
    carries_threads BOOLEAN, carries_kernel_stores BOOLEAN, carries_dependences BOOLEAN, carries_paths BOOLEAN);
CREATE TABLE diagnostic (
    severity VARCHAR NOT NULL, code VARCHAR NOT NULL, message VARCHAR NOT NULL, count BIGINT NOT NULL, first_position VARCHAR,
    remedy VARCHAR);
COMMENT ON TABLE meta IS 'Properties of the database: schema version, addfg version, detail, isa, first stack pointer';
COMMENT ON COLUMN meta.key IS 'Name of the property';
COMMENT ON COLUMN meta.value IS 'Its value as text';
COMMENT ON TABLE input IS 'Files that the database was built from and what they carry';
COMMENT ON COLUMN input.input_id IS 'Dense from 1, in the order of the command line';
COMMENT ON COLUMN input.role IS 'trace or elf';
COMMENT ON COLUMN input.path IS 'As given on the command line; - is standard input';
COMMENT ON COLUMN input.format IS 'Name of the format as in addfg formats';
COMMENT ON COLUMN input.size IS 'Bytes as read (compressed where the file is)';
COMMENT ON COLUMN input.hash IS 'Hash of the contents, NULL for a pipe';
COMMENT ON COLUMN input.options IS 'Build options that change the contents';
COMMENT ON COLUMN input.carries_calls IS 'Calls are records of the trace';
COMMENT ON COLUMN input.carries_accesses IS 'Memory accesses are known';
COMMENT ON COLUMN input.carries_registers IS 'Register accesses are known';
COMMENT ON COLUMN input.carries_values IS 'Values of registers are known';
COMMENT ON COLUMN input.carries_time IS 'The trace has a clock';
COMMENT ON COLUMN input.carries_threads IS 'The trace tells threads apart';
COMMENT ON COLUMN input.carries_kernel_stores IS 'Whether the trace has the bytes that the kernel stored';
COMMENT ON COLUMN input.carries_dependences IS 'Dependences between instances of instructions are records of the trace';
COMMENT ON COLUMN input.carries_paths IS 'Paths that functions ran are known, not when they did';
COMMENT ON TABLE diagnostic IS 'Each kind of problem met while building';
COMMENT ON COLUMN diagnostic.severity IS 'info, warning or error';
COMMENT ON COLUMN diagnostic.code IS 'Stable name of the kind of problem';
COMMENT ON COLUMN diagnostic.message IS 'The first one in words';
COMMENT ON COLUMN diagnostic.count IS 'How many were met';
COMMENT ON COLUMN diagnostic.first_position IS 'File and line or byte offset of the first';
COMMENT ON COLUMN diagnostic.remedy IS 'The remedy, if any';
