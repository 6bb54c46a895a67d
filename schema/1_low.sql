-- Low level: what the inputs say. Steps and accesses are stored as runs of blocks; opcode_line and data_access are views.
CREATE TABLE process (process_id INTEGER NOT NULL, pid BIGINT, name VARCHAR);
CREATE TABLE thread (thread_id INTEGER NOT NULL, process_id INTEGER NOT NULL, tid BIGINT, steps BIGINT);
CREATE TABLE image (
    image_id INTEGER NOT NULL, process_id INTEGER, path VARCHAR NOT NULL, bias UBIGINT, stripped BOOLEAN, load_seq BIGINT,
    unload_seq BIGINT);
CREATE TABLE section (
    section_id INTEGER NOT NULL, image_id INTEGER NOT NULL, name VARCHAR NOT NULL, address UBIGINT NOT NULL, size UBIGINT NOT NULL,
    writable BOOLEAN NOT NULL, executable BOOLEAN NOT NULL);
CREATE TABLE source_file (file_id INTEGER NOT NULL, path VARCHAR NOT NULL);
CREATE TABLE function_symbol (
    function_id INTEGER NOT NULL, name VARCHAR NOT NULL, symbol VARCHAR, kind VARCHAR NOT NULL, image_id INTEGER,
    file_id INTEGER, address UBIGINT, size UBIGINT);
CREATE TABLE function_name (function_id INTEGER NOT NULL, name VARCHAR NOT NULL);
CREATE TABLE variable (
    variable_id INTEGER NOT NULL, name VARCHAR NOT NULL, type_name VARCHAR, image_id INTEGER, file_id INTEGER, line INTEGER,
    address UBIGINT NOT NULL, size UBIGINT NOT NULL);
CREATE TABLE register (address UINTEGER NOT NULL, name VARCHAR NOT NULL, size UINTEGER NOT NULL, is_control BOOLEAN NOT NULL);
CREATE TABLE instruction (
    instruction_id INTEGER NOT NULL, process_id INTEGER, image_id INTEGER, address UBIGINT NOT NULL, opcode BLOB, text VARCHAR,
    size UTINYINT NOT NULL, function_id INTEGER NOT NULL, file_id INTEGER, line INTEGER, class VARCHAR NOT NULL,
    target UBIGINT, conditional BOOLEAN NOT NULL, repeats BOOLEAN NOT NULL, executions BIGINT NOT NULL);
CREATE TABLE block_step (
    block_id INTEGER NOT NULL, step INTEGER NOT NULL, instruction_id INTEGER NOT NULL, executed BOOLEAN NOT NULL);
CREATE TABLE block_access (
    block_id INTEGER NOT NULL, step INTEGER NOT NULL, ordinal USMALLINT NOT NULL, is_write BOOLEAN NOT NULL,
    space VARCHAR NOT NULL, register_address UINTEGER, memory_index INTEGER, value_index INTEGER, size UINTEGER NOT NULL,
    is_control BOOLEAN NOT NULL, is_stack_relative BOOLEAN NOT NULL, data_register UINTEGER);
CREATE TABLE block_run (
    start_seq BIGINT NOT NULL, thread_id INTEGER NOT NULL, block_id INTEGER NOT NULL, address UBIGINT[], value UBIGINT[],
    time UBIGINT[], sp UBIGINT, linked BOOLEAN);
CREATE VIEW source_line AS
    SELECT file_id, line, count(*) AS instructions, sum(executions)::BIGINT AS steps
    FROM instruction WHERE line IS NOT NULL GROUP BY ALL;
CREATE VIEW opcode_line AS
    SELECT r.start_seq + s.step AS seq, r.thread_id, r.time[s.step + 1] AS time, s.instruction_id, s.executed
    FROM block_run r JOIN block_step s USING (block_id);
CREATE VIEW data_access AS
    SELECT r.start_seq + a.step AS seq, a.ordinal, a.is_write, a.space,
           CASE WHEN a.space = 'memory' THEN r.address[a.memory_index + 1] ELSE a.register_address::UBIGINT END AS address,
           a.size, r.value[a.value_index + 1] AS value, a.is_control, a.is_stack_relative, a.data_register, r.thread_id
    FROM block_run r JOIN block_access a USING (block_id);
-- The bound goes down to block_run.start_seq, where DuckDB's zone maps see it: no block has more steps than meta says.
CREATE MACRO steps(lo, hi) AS TABLE
    SELECT r.start_seq + s.step AS seq, r.thread_id, r.time[s.step + 1] AS time, s.instruction_id, s.executed
    FROM (SELECT * FROM block_run
          WHERE start_seq <= hi AND start_seq > lo - (SELECT value::BIGINT FROM meta WHERE key = 'longest_block')) r
    JOIN block_step s USING (block_id)
    WHERE r.start_seq + s.step BETWEEN lo AND hi;
CREATE MACRO accesses(lo, hi) AS TABLE
    SELECT r.start_seq + a.step AS seq, a.ordinal, a.is_write, a.space,
           CASE WHEN a.space = 'memory' THEN r.address[a.memory_index + 1] ELSE a.register_address::UBIGINT END AS address,
           a.size, r.value[a.value_index + 1] AS value, a.is_control, a.is_stack_relative, a.data_register, r.thread_id
    FROM (SELECT * FROM block_run
          WHERE start_seq <= hi AND start_seq > lo - (SELECT value::BIGINT FROM meta WHERE key = 'longest_block')) r
    JOIN block_access a USING (block_id)
    WHERE r.start_seq + a.step BETWEEN lo AND hi;
