-- Answers that take the whole run: `addfg prepare` stores them, and views that find them there do not go through it again.
-- Before, the views are an error to others than addfg itself.
CREATE VIEW lacks_answers AS
    SELECT CAST(error('what takes the whole run is not stored in this database yet: addfg prepare DB finds and stores it') AS BOOLEAN) AS no FROM meta
    WHERE key = 'schema_version' AND NOT EXISTS (SELECT 1 FROM meta p WHERE p.key = 'prepared');
CREATE TABLE object_use_row (
    object VARCHAR NOT NULL, field VARCHAR, address UBIGINT, size UBIGINT, function_id INTEGER, reads UBIGINT NOT NULL,
    read_bytes UBIGINT NOT NULL, writes UBIGINT NOT NULL, written_bytes UBIGINT NOT NULL, unique_bytes UBIGINT NOT NULL,
    dead_bytes UBIGINT, first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL);
CREATE VIEW object_use AS SELECT * FROM object_use_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE memory_traffic_row (
    name VARCHAR NOT NULL, reads UBIGINT NOT NULL, read_bytes UBIGINT NOT NULL, writes UBIGINT NOT NULL, written_bytes UBIGINT NOT NULL,
    dead_bytes UBIGINT NOT NULL, touched UBIGINT NOT NULL, unique_read_bytes UBIGINT NOT NULL, first_read_bytes UBIGINT NOT NULL);
CREATE VIEW memory_traffic AS SELECT * FROM memory_traffic_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE memory_moment_row (
    moment INTEGER NOT NULL, first_seq BIGINT NOT NULL, reads UBIGINT NOT NULL, writes UBIGINT NOT NULL, touched UBIGINT NOT NULL,
    footprint UBIGINT NOT NULL);
CREATE VIEW memory_moment AS SELECT * FROM memory_moment_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE memory_page_row (moment INTEGER NOT NULL, page UBIGINT NOT NULL, reads UBIGINT NOT NULL, writes UBIGINT NOT NULL);
CREATE VIEW memory_page AS SELECT * FROM memory_page_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE memory_reuse_row (class INTEGER, accesses UBIGINT NOT NULL);
CREATE VIEW memory_reuse AS SELECT * FROM memory_reuse_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE written_line (first_seq BIGINT NOT NULL, line UBIGINT NOT NULL);
CREATE TABLE executed_loop_row (
    loop_id INTEGER NOT NULL, function_id INTEGER, place VARCHAR NOT NULL, depth UINTEGER NOT NULL, irreducible BOOLEAN NOT NULL,
    entries BIGINT NOT NULL, iterations BIGINT NOT NULL, steps BIGINT NOT NULL, carried_memory BIGINT NOT NULL,
    carried_register BIGINT NOT NULL, carried_edges BIGINT NOT NULL, pattern VARCHAR NOT NULL, operations VARCHAR, distance BIGINT,
    stages BIGINT NOT NULL, recurrences BIGINT NOT NULL);
CREATE VIEW executed_loop AS SELECT * FROM executed_loop_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE loop_dependence_row (
    loop_id INTEGER NOT NULL, conflict VARCHAR NOT NULL, space VARCHAR NOT NULL, storage VARCHAR NOT NULL, least BIGINT NOT NULL,
    most BIGINT NOT NULL, count UBIGINT NOT NULL, bytes UBIGINT NOT NULL);
CREATE VIEW loop_dependence AS SELECT * FROM loop_dependence_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE critical_path_row (weight VARCHAR NOT NULL, steps BIGINT NOT NULL, length UBIGINT NOT NULL);
CREATE VIEW critical_path AS SELECT * FROM critical_path_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE critical_function_row (weight VARCHAR NOT NULL, function_id INTEGER, on_path UBIGINT NOT NULL);
CREATE VIEW critical_function AS SELECT * FROM critical_function_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);
CREATE TABLE critical_call_row (weight VARCHAR NOT NULL, call_id INTEGER NOT NULL, function_id INTEGER, on_path UBIGINT NOT NULL);
CREATE VIEW critical_call AS SELECT * FROM critical_call_row WHERE NOT EXISTS (SELECT 1 FROM lacks_answers WHERE no);

COMMENT ON VIEW lacks_answers IS 'As lacks_calls, of what addfg prepare stores';
COMMENT ON TABLE object_use_row IS 'The rows of object_use';
COMMENT ON VIEW object_use IS 'Which functions use which objects: addfg objects. A row for the whole object, and one for each of its fields that is used';
COMMENT ON COLUMN object_use_row.object IS 'The variable, or (heap), (stack) and the like';
COMMENT ON COLUMN object_use_row.field IS 'Part of a structure: position.x, pixels[].red; NULL: the whole object';
COMMENT ON COLUMN object_use_row.address IS 'Where the object lies; NULL for what is more than one piece';
COMMENT ON COLUMN object_use_row.size IS 'Bytes of the object; NULL as above';
COMMENT ON COLUMN object_use_row.function_id IS 'The function whose instructions access it; NULL: code of none';
COMMENT ON COLUMN object_use_row.reads IS 'Reads that begin in it; of a field: that touch it';
COMMENT ON COLUMN object_use_row.read_bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN object_use_row.writes IS 'Writes, as reads';
COMMENT ON COLUMN object_use_row.written_bytes IS 'Bytes written, each write counted';
COMMENT ON COLUMN object_use_row.unique_bytes IS 'Different bytes that the function reads or writes';
COMMENT ON COLUMN object_use_row.dead_bytes IS 'Bytes that it wrote, and that were overwritten or left without being read; NULL of the stack';
COMMENT ON COLUMN object_use_row.first_seq IS 'Its first access';
COMMENT ON COLUMN object_use_row.last_seq IS 'Its last access';
COMMENT ON TABLE memory_traffic_row IS 'The rows of memory_traffic';
COMMENT ON VIEW memory_traffic IS 'Traffic by variable or kind of memory: addfg memory';
COMMENT ON COLUMN memory_traffic_row.name IS 'The variable, or (heap), (stack) and the like';
COMMENT ON COLUMN memory_traffic_row.reads IS 'Reads';
COMMENT ON COLUMN memory_traffic_row.read_bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN memory_traffic_row.writes IS 'Writes';
COMMENT ON COLUMN memory_traffic_row.written_bytes IS 'Bytes written, each write counted';
COMMENT ON COLUMN memory_traffic_row.dead_bytes IS 'Bytes that were overwritten or left without being read; of the stack 0';
COMMENT ON COLUMN memory_traffic_row.touched IS 'Different bytes';
COMMENT ON COLUMN memory_traffic_row.unique_read_bytes IS 'Different bytes that were read';
COMMENT ON COLUMN memory_traffic_row.first_read_bytes IS 'Bytes read for the first time since they were written';
COMMENT ON TABLE memory_moment_row IS 'The rows of memory_moment';
COMMENT ON VIEW memory_moment IS 'Memory over time, in 128 parts of the run at most: addfg memory --show time';
COMMENT ON COLUMN memory_moment_row.moment IS 'Number of the part, from 0';
COMMENT ON COLUMN memory_moment_row.first_seq IS 'Its first step';
COMMENT ON COLUMN memory_moment_row.reads IS 'Reads in it';
COMMENT ON COLUMN memory_moment_row.writes IS 'Writes in it';
COMMENT ON COLUMN memory_moment_row.touched IS 'Different bytes in it';
COMMENT ON COLUMN memory_moment_row.footprint IS 'Different bytes up to its end';
COMMENT ON TABLE memory_page_row IS 'The rows of memory_page';
COMMENT ON VIEW memory_page IS 'Accesses by part of the run and page';
COMMENT ON COLUMN memory_page_row.moment IS 'The part';
COMMENT ON COLUMN memory_page_row.page IS 'Address divided by 4096';
COMMENT ON COLUMN memory_page_row.reads IS 'Reads';
COMMENT ON COLUMN memory_page_row.writes IS 'Writes';
COMMENT ON TABLE memory_reuse_row IS 'The rows of memory_reuse';
COMMENT ON VIEW memory_reuse IS 'Accesses to lines of 64 bytes by the different other lines since the last access: addfg memory --show reuse';
COMMENT ON COLUMN memory_reuse_row.class IS '0: none, k: from 2^(k-1) to 2^k - 1; NULL: the line was touched for the first time';
COMMENT ON COLUMN memory_reuse_row.accesses IS 'Accesses';
COMMENT ON TABLE written_line IS 'Which lines of 64 bytes are written in each window of 65536 steps: a slice passes over the others';
COMMENT ON COLUMN written_line.first_seq IS 'First step of the window';
COMMENT ON COLUMN written_line.line IS 'Address divided by 64; the largest number: any line may have been';
COMMENT ON TABLE executed_loop_row IS 'The rows of executed_loop';
COMMENT ON VIEW executed_loop IS 'Loops found in the executed control flow: addfg loops';
COMMENT ON COLUMN executed_loop_row.loop_id IS 'Dense from 1, those with the most steps first';
COMMENT ON COLUMN executed_loop_row.function_id IS 'Function that holds its header; NULL: code of none';
COMMENT ON COLUMN executed_loop_row.place IS 'file:first-last, else the address of the header';
COMMENT ON COLUMN executed_loop_row.depth IS 'Loops around it and itself';
COMMENT ON COLUMN executed_loop_row.irreducible IS 'It has several headers';
COMMENT ON COLUMN executed_loop_row.entries IS 'How often it was entered';
COMMENT ON COLUMN executed_loop_row.iterations IS 'How often its header ran';
COMMENT ON COLUMN executed_loop_row.steps IS 'Steps in it and the loops in it, not in what they call';
COMMENT ON COLUMN executed_loop_row.carried_memory IS 'Bytes that an iteration reads of what an earlier one wrote to memory';
COMMENT ON COLUMN executed_loop_row.carried_register IS 'The same of registers';
COMMENT ON COLUMN executed_loop_row.carried_edges IS 'Pairs of instructions that they connect';
COMMENT ON COLUMN executed_loop_row.pattern IS 'independent, reduction, pipeline or serial';
COMMENT ON COLUMN executed_loop_row.operations IS 'Operations of a reduction, with commas; NULL: not a reduction';
COMMENT ON COLUMN executed_loop_row.distance IS 'The least iterations between two that depend on one another; NULL: none do';
COMMENT ON COLUMN executed_loop_row.stages IS 'Parts of the loop, each a stage of a pipeline at most';
COMMENT ON COLUMN executed_loop_row.recurrences IS 'Those of them that depend on themselves';
COMMENT ON TABLE loop_dependence_row IS 'The rows of loop_dependence';
COMMENT ON VIEW loop_dependence IS 'Dependences of iterations of executed loops on earlier ones: addfg loops --dependences';
COMMENT ON COLUMN loop_dependence_row.loop_id IS 'The loop';
COMMENT ON COLUMN loop_dependence_row.conflict IS 'read after write, write after read or write after write';
COMMENT ON COLUMN loop_dependence_row.space IS 'register, variable, or memory without a name';
COMMENT ON COLUMN loop_dependence_row.storage IS 'Name of the register or variable, or the via';
COMMENT ON COLUMN loop_dependence_row.least IS 'The least iterations between';
COMMENT ON COLUMN loop_dependence_row.most IS 'The most';
COMMENT ON COLUMN loop_dependence_row.count IS 'Accesses of the later iterations';
COMMENT ON COLUMN loop_dependence_row.bytes IS 'Their bytes';
COMMENT ON TABLE critical_path_row IS 'The rows of critical_path';
COMMENT ON VIEW critical_path IS 'Length of the longest chain of dependences: addfg critical';
COMMENT ON COLUMN critical_path_row.weight IS 'Unit of a step''s weight: steps or bytes';
COMMENT ON COLUMN critical_path_row.steps IS 'Steps of the run; the repetitions of a string instruction are one';
COMMENT ON COLUMN critical_path_row.length IS 'Of the chain';
COMMENT ON TABLE critical_function_row IS 'The rows of critical_function';
COMMENT ON VIEW critical_function IS 'The longest chain by function';
COMMENT ON COLUMN critical_function_row.weight IS 'steps or bytes';
COMMENT ON COLUMN critical_function_row.function_id IS 'The function; NULL: code of none';
COMMENT ON COLUMN critical_function_row.on_path IS 'Steps, or bytes';
COMMENT ON TABLE critical_call_row IS 'The rows of critical_call';
COMMENT ON VIEW critical_call IS 'The longest chain by call instance, the thousand with the most';
COMMENT ON COLUMN critical_call_row.weight IS 'steps or bytes';
COMMENT ON COLUMN critical_call_row.call_id IS 'The instance';
COMMENT ON COLUMN critical_call_row.function_id IS 'Its function';
COMMENT ON COLUMN critical_call_row.on_path IS 'Steps, or bytes';
