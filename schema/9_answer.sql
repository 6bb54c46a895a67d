-- Answers that take the whole run: `addfg prepare` stores them, and views that find them there do not go through it again. Empty before.
CREATE TABLE object_use (
    object VARCHAR NOT NULL, field VARCHAR, address UBIGINT, size UBIGINT, function_id INTEGER, reads UBIGINT NOT NULL,
    read_bytes UBIGINT NOT NULL, writes UBIGINT NOT NULL, written_bytes UBIGINT NOT NULL, unique_bytes UBIGINT NOT NULL,
    dead_bytes UBIGINT, first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL);
CREATE TABLE memory_traffic (
    name VARCHAR NOT NULL, reads UBIGINT NOT NULL, read_bytes UBIGINT NOT NULL, writes UBIGINT NOT NULL, written_bytes UBIGINT NOT NULL,
    dead_bytes UBIGINT NOT NULL, touched UBIGINT NOT NULL, unique_read_bytes UBIGINT NOT NULL, first_read_bytes UBIGINT NOT NULL);
CREATE TABLE memory_moment (
    moment INTEGER NOT NULL, first_seq BIGINT NOT NULL, reads UBIGINT NOT NULL, writes UBIGINT NOT NULL, touched UBIGINT NOT NULL,
    footprint UBIGINT NOT NULL);
CREATE TABLE memory_page (moment INTEGER NOT NULL, page UBIGINT NOT NULL, reads UBIGINT NOT NULL, writes UBIGINT NOT NULL);
CREATE TABLE memory_reuse (class INTEGER, accesses UBIGINT NOT NULL);
CREATE TABLE written_line (first_seq BIGINT NOT NULL, line UBIGINT NOT NULL);
CREATE TABLE executed_loop (
    loop_id INTEGER NOT NULL, function_id INTEGER, place VARCHAR NOT NULL, depth UINTEGER NOT NULL, irreducible BOOLEAN NOT NULL,
    entries BIGINT NOT NULL, iterations BIGINT NOT NULL, steps BIGINT NOT NULL, carried_memory BIGINT NOT NULL,
    carried_register BIGINT NOT NULL, carried_edges BIGINT NOT NULL, pattern VARCHAR NOT NULL, operations VARCHAR, distance BIGINT,
    stages BIGINT NOT NULL, recurrences BIGINT NOT NULL);
CREATE TABLE loop_dependence (
    loop_id INTEGER NOT NULL, conflict VARCHAR NOT NULL, space VARCHAR NOT NULL, storage VARCHAR NOT NULL, least BIGINT NOT NULL,
    most BIGINT NOT NULL, count UBIGINT NOT NULL, bytes UBIGINT NOT NULL);
CREATE TABLE critical_path (weight VARCHAR NOT NULL, steps BIGINT NOT NULL, length UBIGINT NOT NULL);
CREATE TABLE critical_function (weight VARCHAR NOT NULL, function_id INTEGER, on_path UBIGINT NOT NULL);
CREATE TABLE critical_call (weight VARCHAR NOT NULL, call_id INTEGER NOT NULL, function_id INTEGER, on_path UBIGINT NOT NULL);

COMMENT ON TABLE object_use IS 'Which functions use which objects: addfg objects. A row for the whole object, and one for each of its fields that is used';
COMMENT ON COLUMN object_use.object IS 'The variable, or (heap), (stack) and the like';
COMMENT ON COLUMN object_use.field IS 'Part of a structure: position.x, pixels[].red; NULL: the whole object';
COMMENT ON COLUMN object_use.address IS 'Where the object lies; NULL for what is more than one piece';
COMMENT ON COLUMN object_use.size IS 'Bytes of the object; NULL as above';
COMMENT ON COLUMN object_use.function_id IS 'The function whose instructions access it; NULL: code of none';
COMMENT ON COLUMN object_use.reads IS 'Reads that begin in it; of a field: that touch it';
COMMENT ON COLUMN object_use.read_bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN object_use.writes IS 'Writes, as reads';
COMMENT ON COLUMN object_use.written_bytes IS 'Bytes written, each write counted';
COMMENT ON COLUMN object_use.unique_bytes IS 'Different bytes that the function reads or writes';
COMMENT ON COLUMN object_use.dead_bytes IS 'Bytes that it wrote, and that were overwritten or left without being read; NULL of the stack';
COMMENT ON COLUMN object_use.first_seq IS 'Its first access';
COMMENT ON COLUMN object_use.last_seq IS 'Its last access';
COMMENT ON TABLE memory_traffic IS 'Traffic by variable or kind of memory: addfg memory';
COMMENT ON COLUMN memory_traffic.name IS 'The variable, or (heap), (stack) and the like';
COMMENT ON COLUMN memory_traffic.reads IS 'Reads';
COMMENT ON COLUMN memory_traffic.read_bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN memory_traffic.writes IS 'Writes';
COMMENT ON COLUMN memory_traffic.written_bytes IS 'Bytes written, each write counted';
COMMENT ON COLUMN memory_traffic.dead_bytes IS 'Bytes that were overwritten or left without being read; of the stack 0';
COMMENT ON COLUMN memory_traffic.touched IS 'Different bytes';
COMMENT ON COLUMN memory_traffic.unique_read_bytes IS 'Different bytes that were read';
COMMENT ON COLUMN memory_traffic.first_read_bytes IS 'Bytes read for the first time since they were written';
COMMENT ON TABLE memory_moment IS 'Memory over time, in 128 parts of the run at most: addfg memory --show time';
COMMENT ON COLUMN memory_moment.moment IS 'Number of the part, from 0';
COMMENT ON COLUMN memory_moment.first_seq IS 'Its first step';
COMMENT ON COLUMN memory_moment.reads IS 'Reads in it';
COMMENT ON COLUMN memory_moment.writes IS 'Writes in it';
COMMENT ON COLUMN memory_moment.touched IS 'Different bytes in it';
COMMENT ON COLUMN memory_moment.footprint IS 'Different bytes up to its end';
COMMENT ON TABLE memory_page IS 'Accesses by part of the run and page';
COMMENT ON COLUMN memory_page.moment IS 'The part';
COMMENT ON COLUMN memory_page.page IS 'Address divided by 4096';
COMMENT ON COLUMN memory_page.reads IS 'Reads';
COMMENT ON COLUMN memory_page.writes IS 'Writes';
COMMENT ON TABLE memory_reuse IS 'Accesses to lines of 64 bytes by the different other lines since the last access: addfg memory --show reuse';
COMMENT ON COLUMN memory_reuse.class IS '0: none, k: from 2^(k-1) to 2^k - 1; NULL: the line was touched for the first time';
COMMENT ON COLUMN memory_reuse.accesses IS 'Accesses';
COMMENT ON TABLE written_line IS 'Which lines of 64 bytes are written in each window of 65536 steps: a slice passes over the others';
COMMENT ON COLUMN written_line.first_seq IS 'First step of the window';
COMMENT ON COLUMN written_line.line IS 'Address divided by 64; the largest number: any line may have been';
COMMENT ON TABLE executed_loop IS 'Loops found in the executed control flow: addfg loops';
COMMENT ON COLUMN executed_loop.loop_id IS 'Dense from 1, those with the most steps first';
COMMENT ON COLUMN executed_loop.function_id IS 'Function that holds its header; NULL: code of none';
COMMENT ON COLUMN executed_loop.place IS 'file:first-last, else the address of the header';
COMMENT ON COLUMN executed_loop.depth IS 'Loops around it and itself';
COMMENT ON COLUMN executed_loop.irreducible IS 'It has several headers';
COMMENT ON COLUMN executed_loop.entries IS 'How often it was entered';
COMMENT ON COLUMN executed_loop.iterations IS 'How often its header ran';
COMMENT ON COLUMN executed_loop.steps IS 'Steps in it and the loops in it, not in what they call';
COMMENT ON COLUMN executed_loop.carried_memory IS 'Bytes that an iteration reads of what an earlier one wrote to memory';
COMMENT ON COLUMN executed_loop.carried_register IS 'The same of registers';
COMMENT ON COLUMN executed_loop.carried_edges IS 'Pairs of instructions that they connect';
COMMENT ON COLUMN executed_loop.pattern IS 'independent, reduction, pipeline or serial';
COMMENT ON COLUMN executed_loop.operations IS 'Operations of a reduction, with commas; NULL: not a reduction';
COMMENT ON COLUMN executed_loop.distance IS 'The least iterations between two that depend on one another; NULL: none do';
COMMENT ON COLUMN executed_loop.stages IS 'Parts of the loop, each a stage of a pipeline at most';
COMMENT ON COLUMN executed_loop.recurrences IS 'Those of them that depend on themselves';
COMMENT ON TABLE loop_dependence IS 'Dependences of iterations of executed loops on earlier ones: addfg loops --dependences';
COMMENT ON COLUMN loop_dependence.loop_id IS 'The loop';
COMMENT ON COLUMN loop_dependence.conflict IS 'read after write, write after read or write after write';
COMMENT ON COLUMN loop_dependence.space IS 'register, variable, or memory without a name';
COMMENT ON COLUMN loop_dependence.storage IS 'Name of the register or variable, or the via';
COMMENT ON COLUMN loop_dependence.least IS 'The least iterations between';
COMMENT ON COLUMN loop_dependence.most IS 'The most';
COMMENT ON COLUMN loop_dependence.count IS 'Accesses of the later iterations';
COMMENT ON COLUMN loop_dependence.bytes IS 'Their bytes';
COMMENT ON TABLE critical_path IS 'Length of the longest chain of dependences: addfg critical';
COMMENT ON COLUMN critical_path.weight IS 'Unit of a step''s weight: steps or bytes';
COMMENT ON COLUMN critical_path.steps IS 'Steps of the run; the repetitions of a string instruction are one';
COMMENT ON COLUMN critical_path.length IS 'Of the chain';
COMMENT ON TABLE critical_function IS 'The longest chain by function';
COMMENT ON COLUMN critical_function.weight IS 'steps or bytes';
COMMENT ON COLUMN critical_function.function_id IS 'The function; NULL: code of none';
COMMENT ON COLUMN critical_function.on_path IS 'Steps, or bytes';
COMMENT ON TABLE critical_call IS 'The longest chain by call instance, the thousand with the most';
COMMENT ON COLUMN critical_call.weight IS 'steps or bytes';
COMMENT ON COLUMN critical_call.call_id IS 'The instance';
COMMENT ON COLUMN critical_call.function_id IS 'Its function';
COMMENT ON COLUMN critical_call.on_path IS 'Steps, or bytes';
