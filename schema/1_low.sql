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
    file_id INTEGER, address UBIGINT, size UBIGINT, owner VARCHAR);
CREATE TABLE function_name (function_id INTEGER NOT NULL, name VARCHAR NOT NULL);
CREATE TABLE variable (
    variable_id INTEGER NOT NULL, name VARCHAR NOT NULL, type_name VARCHAR, image_id INTEGER, file_id INTEGER, line INTEGER,
    address UBIGINT NOT NULL, size UBIGINT NOT NULL);
CREATE TABLE variable_dimension (
    variable_id INTEGER NOT NULL, position INTEGER NOT NULL, first BIGINT NOT NULL, length UBIGINT NOT NULL, stride UBIGINT NOT NULL,
    brackets VARCHAR NOT NULL);
CREATE TABLE variable_field (
    variable_id INTEGER NOT NULL, name VARCHAR NOT NULL, start UBIGINT NOT NULL, size UBIGINT NOT NULL, stride UBIGINT);
CREATE TABLE register (address UINTEGER NOT NULL, name VARCHAR NOT NULL, size UINTEGER NOT NULL, is_control BOOLEAN NOT NULL);
CREATE TABLE instruction (
    instruction_id INTEGER NOT NULL, process_id INTEGER, image_id INTEGER, address UBIGINT NOT NULL, opcode BLOB, text VARCHAR,
    size UTINYINT, function_id INTEGER NOT NULL, file_id INTEGER, line INTEGER, class VARCHAR NOT NULL,
    target UBIGINT, conditional BOOLEAN, repeats BOOLEAN, executions BIGINT NOT NULL);
-- Calls that the compiler replaced by the body of what they call (DWARF's inlined subroutines), where something of it ran.
CREATE TABLE inlined_call (
    inlined_call_id INTEGER NOT NULL, name VARCHAR NOT NULL, function_id INTEGER NOT NULL, parent_inlined_call_id INTEGER,
    file_id INTEGER, line INTEGER);
CREATE TABLE inlined_instruction (instruction_id INTEGER NOT NULL, inlined_call_id INTEGER NOT NULL);
CREATE TABLE block_step (
    block_id INTEGER NOT NULL, step INTEGER NOT NULL, instruction_id INTEGER NOT NULL, executed BOOLEAN NOT NULL);
CREATE TABLE block_access (
    block_id INTEGER NOT NULL, step INTEGER NOT NULL, ordinal USMALLINT NOT NULL, is_write BOOLEAN NOT NULL,
    space VARCHAR NOT NULL, register_address UINTEGER, memory_index INTEGER, value_index INTEGER, size UINTEGER NOT NULL,
    is_control BOOLEAN NOT NULL, is_stack_relative BOOLEAN NOT NULL, data_register UINTEGER);
CREATE TABLE block_run (
    start_seq BIGINT NOT NULL, thread_id INTEGER NOT NULL, block_id INTEGER NOT NULL, address UBIGINT[], value UBIGINT[],
    time UBIGINT[], sp UBIGINT, linked BOOLEAN);
-- The run packed, where not all of it has rows in block_run: chunks of 2^18 steps, and what a pass over them has to know of the code.
-- Packed bytes are cut into rows: DuckDB has 2,048 rows of a table in memory at once, however large they are.
CREATE TABLE run_chunk (first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL);
CREATE TABLE run_piece (first_seq BIGINT NOT NULL, piece INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE run_state (first_seq BIGINT NOT NULL, part VARCHAR NOT NULL, piece INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE run_code (data BLOB NOT NULL);
-- What ends a statement that asks for rows which are not there, as a packed run has none: an error instead of an empty answer. addfg
-- itself makes them, or says what is missing; for its own connections these views are empty.
CREATE VIEW lacks_calls AS
    SELECT CAST(error(CASE WHEN EXISTS (SELECT 1 FROM run_code) THEN 'this run is packed, and its calls and events are not in the file as rows: addfg rows DB makes them, of a part with --range or --functions; addfg sql DB makes those that a statement names; in other programs addfg.duckdb_extension has functions that read the run (addfg_steps, addfg_accesses, addfg_communications, addfg_calls_of)' ELSE 'this database has sums only, as it was made with --no-steps or with --detail summary, and no rows of calls and events: record or build it again without' END) AS BOOLEAN) AS no FROM meta
    WHERE key = 'detail' AND value = 'summary' AND EXISTS (SELECT 1 FROM run_code UNION ALL SELECT 1 FROM meta WHERE key = 'longest_block');
-- Of system calls there are rows beside sums, too.
CREATE VIEW lacks_system_calls AS
    SELECT CAST(error('this run is packed, and its calls and events are not in the file as rows: addfg rows DB makes them, of a part with --range or --functions; addfg sql DB makes those that a statement names; in other programs addfg.duckdb_extension has functions that read the run (addfg_steps, addfg_accesses, addfg_communications, addfg_calls_of)') AS BOOLEAN) AS no FROM meta
    WHERE key = 'detail' AND value = 'summary' AND EXISTS (SELECT 1 FROM run_code);
CREATE VIEW lacks_steps AS
    SELECT CAST(error(CASE WHEN EXISTS (SELECT 1 FROM run_code) THEN 'this run is packed, and its steps and accesses are not in the file as rows: addfg rows DB makes them, of a part with --range or --functions; addfg sql DB makes those that a statement names; in other programs addfg.duckdb_extension has functions that read the run (addfg_steps, addfg_accesses, addfg_communications, addfg_calls_of)' ELSE 'this database has sums only, as it was made with --no-steps or with --detail summary, and no steps: record or build it again without' END) AS BOOLEAN) AS no FROM meta
    WHERE key = 'detail' AND value IN ('summary', 'instance') AND NOT EXISTS (SELECT 1 FROM block_run)
        AND EXISTS (SELECT 1 FROM run_code UNION ALL SELECT 1 FROM meta WHERE key = 'longest_block');
-- What a trace tells of beside steps, each at the step behind which it stands.
CREATE TABLE thread_event_row (
    seq BIGINT, thread_id INTEGER NOT NULL, kind VARCHAR NOT NULL, parent_thread_id INTEGER, name VARCHAR);
CREATE VIEW thread_event AS SELECT * FROM thread_event_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE system_call_row (
    system_call_id INTEGER NOT NULL, seq BIGINT, thread_id INTEGER NOT NULL, number BIGINT, name VARCHAR, result UBIGINT);
CREATE VIEW system_call AS SELECT * FROM system_call_row WHERE NOT EXISTS (SELECT 1 FROM lacks_system_calls WHERE no);
CREATE TABLE system_call_access_row (
    system_call_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, is_write BOOLEAN NOT NULL, address UBIGINT NOT NULL,
    bytes UBIGINT NOT NULL, source VARCHAR);
CREATE VIEW system_call_access AS SELECT * FROM system_call_access_row WHERE NOT EXISTS (SELECT 1 FROM lacks_system_calls WHERE no);
CREATE TABLE mapping_row (
    seq BIGINT, process_id INTEGER NOT NULL, kind VARCHAR NOT NULL, address UBIGINT NOT NULL, bytes UBIGINT NOT NULL,
    file_offset UBIGINT, to_address UBIGINT, path VARCHAR);
CREATE VIEW mapping AS SELECT * FROM mapping_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE allocation_row (
    seq BIGINT, thread_id INTEGER NOT NULL, kind VARCHAR NOT NULL, address UBIGINT NOT NULL, bytes UBIGINT);
CREATE VIEW allocation AS SELECT * FROM allocation_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE signal_event_row (seq BIGINT, thread_id INTEGER NOT NULL, kind VARCHAR NOT NULL, number INTEGER);
CREATE VIEW signal_event AS SELECT * FROM signal_event_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE TABLE marker_row (seq BIGINT, thread_id INTEGER NOT NULL, text VARCHAR NOT NULL);
CREATE VIEW marker AS SELECT * FROM marker_row WHERE NOT EXISTS (SELECT 1 FROM lacks_calls WHERE no);
CREATE VIEW source_line AS
    SELECT file_id, line, count(*) AS instructions, CAST(sum(executions) AS BIGINT) AS steps
    FROM instruction WHERE line IS NOT NULL GROUP BY file_id, line;
-- What rtrim leaves of a path when it may take all characters but separators are its folders. In words that SQLite has, too.
CREATE VIEW source_name AS
    SELECT file_id, path, substr(path, length(rtrim(path, replace(replace(path, '/', ''), '\', ''))) + 1) AS name
    FROM source_file;
CREATE VIEW opcode_line AS
    SELECT r.start_seq + s.step AS seq, r.thread_id, r.time[s.step + 1] AS time, s.instruction_id, s.executed
    FROM block_run r JOIN block_step s USING (block_id) WHERE NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no);
CREATE VIEW data_access AS
    SELECT r.start_seq + a.step AS seq, a.ordinal, a.is_write, a.space,
           CASE WHEN a.space = 'memory' THEN r.address[a.memory_index + 1] ELSE a.register_address::UBIGINT END AS address,
           a.size, r.value[a.value_index + 1] AS value, a.is_control, a.is_stack_relative, a.data_register, r.thread_id
    FROM block_run r JOIN block_access a USING (block_id) WHERE NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no);
-- The bound goes down to block_run.start_seq, where DuckDB's zone maps see it: no block has more steps than meta says.
CREATE MACRO steps(lo, hi) AS TABLE
    SELECT r.start_seq + s.step AS seq, r.thread_id, r.time[s.step + 1] AS time, s.instruction_id, s.executed
    FROM (SELECT * FROM block_run
          WHERE start_seq <= hi AND start_seq > lo - (SELECT value::BIGINT FROM meta WHERE key = 'longest_block')) r
    JOIN block_step s USING (block_id)
    WHERE r.start_seq + s.step BETWEEN lo AND hi AND NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no);
CREATE MACRO accesses(lo, hi) AS TABLE
    SELECT r.start_seq + a.step AS seq, a.ordinal, a.is_write, a.space,
           CASE WHEN a.space = 'memory' THEN r.address[a.memory_index + 1] ELSE a.register_address::UBIGINT END AS address,
           a.size, r.value[a.value_index + 1] AS value, a.is_control, a.is_stack_relative, a.data_register, r.thread_id
    FROM (SELECT * FROM block_run
          WHERE start_seq <= hi AND start_seq > lo - (SELECT value::BIGINT FROM meta WHERE key = 'longest_block')) r
    JOIN block_access a USING (block_id)
    WHERE r.start_seq + a.step BETWEEN lo AND hi AND NOT EXISTS (SELECT 1 FROM lacks_steps WHERE no);

COMMENT ON TABLE process IS 'Processes of the trace';
COMMENT ON COLUMN process.process_id IS 'Dense from 1';
COMMENT ON COLUMN process.pid IS 'Process number as the trace has it, NULL if it has none';
COMMENT ON COLUMN process.name IS 'Name, if known';
COMMENT ON TABLE thread IS 'Threads (or CPUs): registers belong to them';
COMMENT ON COLUMN thread.thread_id IS 'Dense from 1';
COMMENT ON COLUMN thread.process_id IS 'Its process';
COMMENT ON COLUMN thread.tid IS 'Thread number as the trace has it';
COMMENT ON COLUMN thread.steps IS 'Executed instructions';
COMMENT ON TABLE image IS 'ELF files given with --elf';
COMMENT ON COLUMN image.image_id IS 'Dense from 1, in the order of the command line';
COMMENT ON COLUMN image.process_id IS 'Process that it is loaded in';
COMMENT ON COLUMN image.path IS 'As given on the command line';
COMMENT ON COLUMN image.bias IS 'Run-time minus link-time address, modulo 2^64';
COMMENT ON COLUMN image.stripped IS 'Neither it nor its debug file has a symbol table';
COMMENT ON COLUMN image.load_seq IS 'First step at which it is loaded, NULL: from the start';
COMMENT ON COLUMN image.unload_seq IS 'Last step at which it is loaded, NULL: to the end';
COMMENT ON TABLE section IS 'Loaded image sections at run-time addresses, disjoint';
COMMENT ON COLUMN section.section_id IS 'Dense from 1, by address';
COMMENT ON COLUMN section.image_id IS 'Its image';
COMMENT ON COLUMN section.name IS 'Section name';
COMMENT ON COLUMN section.address IS 'First run-time address';
COMMENT ON COLUMN section.size IS 'Bytes';
COMMENT ON COLUMN section.writable IS 'SHF_WRITE: via global, else constant';
COMMENT ON COLUMN section.executable IS 'SHF_EXECINSTR';
COMMENT ON TABLE source_file IS 'Source files named by DWARF or symbol tables';
COMMENT ON COLUMN source_file.file_id IS 'Dense from 1';
COMMENT ON COLUMN source_file.path IS 'As the ELF has it';
COMMENT ON TABLE function_symbol IS 'Functions: executed ones first, in order of first execution';
COMMENT ON COLUMN function_symbol.function_id IS 'Dense from 1';
COMMENT ON COLUMN function_symbol.name IS 'Unique name as shown';
COMMENT ON COLUMN function_symbol.symbol IS 'Name in the symbol table, NULL for made-up ones';
COMMENT ON COLUMN function_symbol.kind IS 'function, stub (PLT, veneer, IFUNC resolver), unknown (code outside every symbol), kernel helper, pseudo (wrote bytes that no step wrote)';
COMMENT ON COLUMN function_symbol.image_id IS 'Its image';
COMMENT ON COLUMN function_symbol.file_id IS 'Its source or object file';
COMMENT ON COLUMN function_symbol.address IS 'Run-time address of its entry';
COMMENT ON COLUMN function_symbol.size IS 'Bytes of code, cold parts included';
COMMENT ON COLUMN function_symbol.owner IS 'Owner of the code, by image and source file. program: with its libraries; runtime: run-time systems of C, C++ and Rust; linker: the dynamic linker. NULL: unknown, or without owner';
COMMENT ON TABLE function_name IS 'All names (aliases) of functions';
COMMENT ON COLUMN function_name.function_id IS 'The function';
COMMENT ON COLUMN function_name.name IS 'Name in the symbol table';
COMMENT ON TABLE variable IS 'Global and static variables';
COMMENT ON COLUMN variable.variable_id IS 'Dense from 1';
COMMENT ON COLUMN variable.name IS 'Name';
COMMENT ON COLUMN variable.type_name IS 'Type as C declares it, NULL if DWARF has none';
COMMENT ON COLUMN variable.image_id IS 'Its image';
COMMENT ON COLUMN variable.file_id IS 'File that declares it';
COMMENT ON COLUMN variable.line IS 'Line of the declaration';
COMMENT ON COLUMN variable.address IS 'Run-time address';
COMMENT ON COLUMN variable.size IS 'Bytes';
COMMENT ON TABLE variable_dimension IS 'Dimensions of variables that are arrays, by DWARF';
COMMENT ON COLUMN variable_dimension.variable_id IS 'The variable';
COMMENT ON COLUMN variable_dimension.position IS 'Of the index, as it is written: from 1';
COMMENT ON COLUMN variable_dimension.first IS 'The least index';
COMMENT ON COLUMN variable_dimension.length IS 'How many there are; 0: not said';
COMMENT ON COLUMN variable_dimension.stride IS 'Bytes from one to the next';
COMMENT ON COLUMN variable_dimension.brackets IS 'How the language writes indices: [] each by itself, () all together';
COMMENT ON TABLE variable_field IS 'Fields of variables that are structures, or arrays of structures, by DWARF; a field in an inner array is a row for each element';
COMMENT ON COLUMN variable_field.variable_id IS 'The variable';
COMMENT ON COLUMN variable_field.name IS 'position.x, of an array [].position.x; what shares bytes (unions, bit fields) with | between';
COMMENT ON COLUMN variable_field.start IS 'Bytes before it, in the variable or in its element';
COMMENT ON COLUMN variable_field.size IS 'Bytes';
COMMENT ON COLUMN variable_field.stride IS 'Bytes of an element of an array; each element has the field. NULL: the variable is not an array';
COMMENT ON TABLE register IS 'Register file: addresses of the register space';
COMMENT ON COLUMN register.address IS 'Byte offset of the register in the thread-private register space';
COMMENT ON COLUMN register.name IS 'Name of the full register';
COMMENT ON COLUMN register.size IS 'Bytes';
COMMENT ON COLUMN register.is_control IS 'Program counter, stack pointer, flags: no data';
COMMENT ON TABLE instruction IS 'Dictionary of executed instructions';
COMMENT ON COLUMN instruction.instruction_id IS 'Dense from 1 in order of first execution';
COMMENT ON COLUMN instruction.process_id IS 'Its process';
COMMENT ON COLUMN instruction.image_id IS 'Image that holds it, NULL if none';
COMMENT ON COLUMN instruction.address IS 'Run-time address without the Thumb bit';
COMMENT ON COLUMN instruction.opcode IS 'Bytes in memory order';
COMMENT ON COLUMN instruction.text IS 'Disassembly';
COMMENT ON COLUMN instruction.size IS 'Bytes, NULL if not known';
COMMENT ON COLUMN instruction.function_id IS 'Function whose range holds it';
COMMENT ON COLUMN instruction.file_id IS 'Source file';
COMMENT ON COLUMN instruction.line IS 'Source line';
COMMENT ON COLUMN instruction.class IS 'Effect on control: next, jump, call, return, exception_return, syscall, trap, unknown';
COMMENT ON COLUMN instruction.target IS 'Target of a direct transfer, NULL if indirect or none';
COMMENT ON COLUMN instruction.conditional IS 'May fall through instead; NULL if not known';
COMMENT ON COLUMN instruction.repeats IS 'May be followed by itself (rep); NULL if not known';
COMMENT ON COLUMN instruction.executions IS 'Steps; in a trace of dependences, the executions that it reports';
COMMENT ON TABLE inlined_call IS 'Calls that the compiler inlined, of those whose instructions ran, as DWARF names them; calls of one function on one line are one';
COMMENT ON COLUMN inlined_call.inlined_call_id IS 'Dense from 1 in order of first executed instruction';
COMMENT ON COLUMN inlined_call.name IS 'The function that was inlined';
COMMENT ON COLUMN inlined_call.function_id IS 'The function whose code it is part of: that of its instructions';
COMMENT ON COLUMN inlined_call.parent_inlined_call_id IS 'The inlined call that it is within, NULL: the function itself';
COMMENT ON COLUMN inlined_call.file_id IS 'Source file of the call, NULL if not known';
COMMENT ON COLUMN inlined_call.line IS 'Its line, NULL if not known';
COMMENT ON TABLE inlined_instruction IS 'Instructions of inlined calls: the innermost of each; what is not here is of its function itself';
COMMENT ON COLUMN inlined_instruction.instruction_id IS 'Instruction';
COMMENT ON COLUMN inlined_instruction.inlined_call_id IS 'Innermost inlined call that it is of';
COMMENT ON TABLE block_step IS 'Steps of each block, a straight piece of code';
COMMENT ON COLUMN block_step.block_id IS 'Dense from 1 in order of first execution';
COMMENT ON COLUMN block_step.step IS 'Position in the block, from 0';
COMMENT ON COLUMN block_step.instruction_id IS 'The instruction';
COMMENT ON COLUMN block_step.executed IS 'False: its condition failed';
COMMENT ON TABLE block_access IS 'Accesses of each block, the same at each of its runs';
COMMENT ON COLUMN block_access.block_id IS 'The block';
COMMENT ON COLUMN block_access.step IS 'Position in the block, from 0';
COMMENT ON COLUMN block_access.ordinal IS 'Order within the step, from 0';
COMMENT ON COLUMN block_access.is_write IS 'Write, else read';
COMMENT ON COLUMN block_access.space IS 'memory or register';
COMMENT ON COLUMN block_access.register_address IS 'Register space: address';
COMMENT ON COLUMN block_access.memory_index IS 'Memory: index into block_run.address, from 0';
COMMENT ON COLUMN block_access.value_index IS 'Index into block_run.value, from 0; NULL: no value kept';
COMMENT ON COLUMN block_access.size IS 'Bytes';
COMMENT ON COLUMN block_access.is_control IS 'No data: see docs/semantics.md';
COMMENT ON COLUMN block_access.is_stack_relative IS 'Address computed from the stack pointer';
COMMENT ON COLUMN block_access.data_register IS 'Address of the register that is stored or loaded unchanged, NULL if none';
COMMENT ON TABLE block_run IS 'Executions of blocks: what opcode_line and data_access are made of';
COMMENT ON COLUMN block_run.start_seq IS 'Sequence number of the first step';
COMMENT ON COLUMN block_run.thread_id IS 'The thread';
COMMENT ON COLUMN block_run.block_id IS 'The block';
COMMENT ON COLUMN block_run.address IS 'Addresses of the memory accesses in template order';
COMMENT ON COLUMN block_run.value IS 'Values where the trace has them: of memory accesses, then of register writes of up to 8 bytes';
COMMENT ON COLUMN block_run.time IS 'Clock of each step, NULL if the trace has none';
COMMENT ON COLUMN block_run.sp IS 'Stack pointer after the last step, if the trace has registers';
COMMENT ON COLUMN block_run.linked IS 'The link register then holds the address after the last step';
COMMENT ON TABLE run_chunk IS 'The run in packed chunks, where block_run does not have all of it. Commands read it; `addfg rows` makes rows of it for SQL';
COMMENT ON COLUMN run_chunk.first_seq IS 'First step';
COMMENT ON COLUMN run_chunk.last_seq IS 'Last step, inclusive';
COMMENT ON TABLE run_piece IS 'What a chunk of the run holds, cut into rows';
COMMENT ON COLUMN run_piece.first_seq IS 'First step of the chunk';
COMMENT ON COLUMN run_piece.piece IS 'Place in the chunk, from 0';
COMMENT ON COLUMN run_piece.data IS 'Part of the runs of blocks, and the events between them, as src/store/chunk.rs packs them';
COMMENT ON TABLE run_state IS 'What each chunk of the run needs of what was before it, cut into rows: for questions that are about some chunks. `addfg prepare` or the first such question makes it';
COMMENT ON COLUMN run_state.first_seq IS 'First step of the chunk';
COMMENT ON COLUMN run_state.part IS '`state`: state of the pass (no row: only a pass from the start has it). `ended`: calls, intervals and saves that end in the chunk and began before it. `meets`: functions that run in it, those whose earlier writes it reads, and what it allocates. `events`: system calls, mappings and other events of the trace';
COMMENT ON COLUMN run_state.piece IS 'Place in the part, from 0';
COMMENT ON COLUMN run_state.data IS 'A piece of it, as src/store/run_state.rs packs it';
COMMENT ON TABLE run_code IS 'The code of a packed run; at most one row';
COMMENT ON COLUMN run_code.data IS 'Instructions, blocks and sections as src/store/run_code.rs packs them';
COMMENT ON VIEW lacks_calls IS 'An error where the run is packed or was not kept, and has no rows of calls, dataflow between them and events; else empty';
COMMENT ON VIEW lacks_system_calls IS 'The same of system calls';
COMMENT ON VIEW lacks_steps IS 'The same of steps and accesses';
COMMENT ON TABLE thread_event_row IS 'The rows of thread_event';
COMMENT ON VIEW thread_event IS 'Threads that begin and end, where the trace tells';
COMMENT ON COLUMN thread_event_row.seq IS 'Last step before it, NULL: before the first';
COMMENT ON COLUMN thread_event_row.thread_id IS 'The thread';
COMMENT ON COLUMN thread_event_row.kind IS 'start or end';
COMMENT ON COLUMN thread_event_row.parent_thread_id IS 'Start: the thread that made it, if known';
COMMENT ON COLUMN thread_event_row.name IS 'Start: its name, if known';
COMMENT ON TABLE system_call_row IS 'The rows of system_call';
COMMENT ON VIEW system_call IS 'System calls that have returned, where the trace tells';
COMMENT ON COLUMN system_call_row.system_call_id IS 'Dense from 1, in the order of the trace';
COMMENT ON COLUMN system_call_row.seq IS 'Last step before it returned, NULL: before the first';
COMMENT ON COLUMN system_call_row.thread_id IS 'The thread';
COMMENT ON COLUMN system_call_row.number IS 'Number, if known';
COMMENT ON COLUMN system_call_row.name IS 'Name, if known';
COMMENT ON COLUMN system_call_row.result IS 'Result, if known';
COMMENT ON TABLE system_call_access_row IS 'The rows of system_call_access';
COMMENT ON VIEW system_call_access IS 'Adjacent bytes that the kernel read or wrote for a system call';
COMMENT ON COLUMN system_call_access_row.system_call_id IS 'The system call';
COMMENT ON COLUMN system_call_access_row.ordinal IS 'Order within the call, from 0';
COMMENT ON COLUMN system_call_access_row.is_write IS 'The kernel wrote, else read';
COMMENT ON COLUMN system_call_access_row.address IS 'Address';
COMMENT ON COLUMN system_call_access_row.bytes IS 'Bytes';
COMMENT ON COLUMN system_call_access_row.source IS 'Where they come from or go to (<read: words.txt>), NULL: the kernel';
COMMENT ON TABLE mapping_row IS 'The rows of mapping';
COMMENT ON VIEW mapping IS 'Files and memory that are mapped, unmapped, moved and taken back, where the trace tells. Files that are mapped shared have addresses of their own from 2^62 on';
COMMENT ON COLUMN mapping_row.seq IS 'Last step before it, NULL: before the first';
COMMENT ON COLUMN mapping_row.process_id IS 'The process';
COMMENT ON COLUMN mapping_row.kind IS 'map; unmap; move; copy (through a mapped file); fresh (the kernel has taken back the writes). device: accesses are system calls named device. memory: a memory has a name. gap: contents of memory and registers are unknown from here on';
COMMENT ON COLUMN mapping_row.address IS 'First address';
COMMENT ON COLUMN mapping_row.bytes IS 'Bytes';
COMMENT ON COLUMN mapping_row.file_offset IS 'Map: offset into the file, in bytes';
COMMENT ON COLUMN mapping_row.to_address IS 'Move, copy: where the first address is from then on';
COMMENT ON COLUMN mapping_row.path IS 'Map: the file, NULL: memory without one; device, memory: its name';
COMMENT ON TABLE allocation_row IS 'The rows of allocation';
COMMENT ON VIEW allocation IS 'Memory that the program asks its allocator for, where the trace tells: a stream of addfg record does. The outermost calls of allocation functions only';
COMMENT ON COLUMN allocation_row.seq IS 'Last step before it, NULL: before the first. Allocate: last step of the call that gave it';
COMMENT ON COLUMN allocation_row.thread_id IS 'The thread';
COMMENT ON COLUMN allocation_row.kind IS 'allocate, free, or reallocate: the thread''s next allocate is for it';
COMMENT ON COLUMN allocation_row.address IS 'First address; allocate: 0 where none was given';
COMMENT ON COLUMN allocation_row.bytes IS 'Allocate: bytes';
COMMENT ON TABLE signal_event_row IS 'The rows of signal_event';
COMMENT ON VIEW signal_event IS 'Signals of threads, and exceptions of processors: what the trace tells, and of exceptions what was found where it does not';
COMMENT ON COLUMN signal_event_row.seq IS 'Last step before it, NULL: before the first';
COMMENT ON COLUMN signal_event_row.thread_id IS 'The thread';
COMMENT ON COLUMN signal_event_row.kind IS 'Of a signal delivered (the handler begins) or ended (the thread goes on); of an exception entry or return';
COMMENT ON COLUMN signal_event_row.number IS 'Delivered: number of the signal; entry: of the exception, NULL: neither told nor of a vector table';
COMMENT ON TABLE marker_row IS 'The rows of marker';
COMMENT ON VIEW marker IS 'Marks that the program or its user made in the run';
COMMENT ON COLUMN marker_row.seq IS 'Last step before it, NULL: before the first';
COMMENT ON COLUMN marker_row.thread_id IS 'The thread';
COMMENT ON COLUMN marker_row.text IS 'The mark';
COMMENT ON VIEW source_line IS 'Executed source lines with their instructions and steps';
COMMENT ON VIEW source_name IS 'Source files with their names without folders: file_id, path, name';
COMMENT ON VIEW opcode_line IS 'Every step: seq (from 1 in the order of the trace), thread_id, time, instruction_id, executed';
COMMENT ON VIEW data_access IS 'Every access: seq, ordinal, is_write, space, address, size in bytes, value if known; use accesses(lo, hi) for a range';
