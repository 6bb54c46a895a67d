-- Static control flow: of the format (DCFG, path tracing), or found in the executed instructions. Also the runs of its loops, if the
-- order of blocks is known.
CREATE TABLE basic_block (
    basic_block_id INTEGER NOT NULL, kind VARCHAR NOT NULL, number UBIGINT, process_id INTEGER, image_id INTEGER,
    function_id INTEGER, address UBIGINT, size UBIGINT, instructions BIGINT, last_address UBIGINT, file_id INTEGER, line INTEGER,
    executions BIGINT, block_id INTEGER);
CREATE TABLE cfg_edge (
    cfg_edge_id INTEGER NOT NULL, number UBIGINT, process_id INTEGER, source_block_id INTEGER NOT NULL,
    target_block_id INTEGER NOT NULL, kind VARCHAR NOT NULL, type VARCHAR, count BIGINT);
CREATE TABLE cfg_edge_thread (cfg_edge_id INTEGER NOT NULL, thread_id INTEGER NOT NULL, count BIGINT NOT NULL);
CREATE TABLE routine (
    routine_id INTEGER NOT NULL, process_id INTEGER, image_id INTEGER, function_id INTEGER, entry_block_id INTEGER NOT NULL,
    entries BIGINT);
CREATE TABLE routine_block (
    routine_id INTEGER NOT NULL, basic_block_id INTEGER NOT NULL, dominator_block_id INTEGER, is_exit BOOLEAN NOT NULL);
CREATE TABLE loop (
    loop_id INTEGER NOT NULL, routine_id INTEGER, function_id INTEGER, header_block_id INTEGER NOT NULL, parent_loop_id INTEGER,
    depth INTEGER NOT NULL, entries BIGINT, iterations BIGINT, steps BIGINT);
CREATE TABLE loop_block (loop_id INTEGER NOT NULL, basic_block_id INTEGER NOT NULL, is_back_edge_source BOOLEAN NOT NULL);
CREATE TABLE loop_instance (
    loop_instance_id INTEGER NOT NULL, loop_id INTEGER NOT NULL, instance INTEGER NOT NULL, call_id INTEGER NOT NULL,
    parent_instance_id INTEGER, thread_id INTEGER NOT NULL, start_seq BIGINT NOT NULL, end_seq BIGINT NOT NULL,
    iterations BIGINT NOT NULL);
CREATE TABLE loop_iteration (loop_instance_id INTEGER NOT NULL, iteration BIGINT NOT NULL, start_seq BIGINT NOT NULL);

COMMENT ON TABLE basic_block IS 'Basic blocks: one entry, one exit; nodes of the control-flow graph';
COMMENT ON COLUMN basic_block.basic_block_id IS 'Dense from 1, in the order of the file';
COMMENT ON COLUMN basic_block.kind IS 'block; or a node without code: start, end, unknown';
COMMENT ON COLUMN basic_block.number IS 'Number as the file has it, NULL if it has none';
COMMENT ON COLUMN basic_block.process_id IS 'Its process, NULL for nodes that all processes share';
COMMENT ON COLUMN basic_block.image_id IS 'Image that holds it';
COMMENT ON COLUMN basic_block.function_id IS 'Function that holds its address, NULL for nodes without code';
COMMENT ON COLUMN basic_block.address IS 'Run-time address of the first instruction, NULL if not known';
COMMENT ON COLUMN basic_block.size IS 'Bytes, NULL if not known';
COMMENT ON COLUMN basic_block.instructions IS 'Number of instructions, NULL if not known';
COMMENT ON COLUMN basic_block.last_address IS 'Run-time address of the last instruction, NULL if not known';
COMMENT ON COLUMN basic_block.file_id IS 'Source file of the first instruction';
COMMENT ON COLUMN basic_block.line IS 'Source line of the first instruction';
COMMENT ON COLUMN basic_block.executions IS 'How often it ran, over all threads; NULL if not known';
COMMENT ON COLUMN basic_block.block_id IS 'The same in block_step and block_run, NULL where those have no such block';
COMMENT ON TABLE cfg_edge IS 'Edges of the control-flow graph';
COMMENT ON COLUMN cfg_edge.cfg_edge_id IS 'Dense from 1, in the order of the file';
COMMENT ON COLUMN cfg_edge.number IS 'Number as the file has it, NULL if it has none';
COMMENT ON COLUMN cfg_edge.process_id IS 'Its process';
COMMENT ON COLUMN cfg_edge.source_block_id IS 'Basic block that it leaves';
COMMENT ON COLUMN cfg_edge.target_block_id IS 'Basic block that it enters';
COMMENT ON COLUMN cfg_edge.kind IS 'entry, exit, branch, fall-through, repeat, call, return, trap (system call, interrupt, fault), trap-return, bypass (over what was called, not itself run through unless counted), unknown';
COMMENT ON COLUMN cfg_edge.type IS 'Type in the words of the file';
COMMENT ON COLUMN cfg_edge.count IS 'How often it was taken, over all threads; NULL if not known';
COMMENT ON TABLE cfg_edge_thread IS 'How often each thread took an edge, where it did';
COMMENT ON COLUMN cfg_edge_thread.cfg_edge_id IS 'The edge';
COMMENT ON COLUMN cfg_edge_thread.thread_id IS 'The thread';
COMMENT ON COLUMN cfg_edge_thread.count IS 'Times';
COMMENT ON TABLE routine IS 'Single-entry parts of the control-flow graph as the file has them; not the same as functions';
COMMENT ON COLUMN routine.routine_id IS 'Dense from 1, in the order of the file';
COMMENT ON COLUMN routine.process_id IS 'Its process';
COMMENT ON COLUMN routine.image_id IS 'Its image';
COMMENT ON COLUMN routine.function_id IS 'Function that holds its entry';
COMMENT ON COLUMN routine.entry_block_id IS 'Its only entry';
COMMENT ON COLUMN routine.entries IS 'How often it was entered from outside of it, a return into it or a bypass edge not counted; NULL if not known';
COMMENT ON TABLE routine_block IS 'Basic blocks of each routine';
COMMENT ON COLUMN routine_block.routine_id IS 'The routine';
COMMENT ON COLUMN routine_block.basic_block_id IS 'The basic block';
COMMENT ON COLUMN routine_block.dominator_block_id IS 'Its immediate dominator: itself for the entry, NULL if not known';
COMMENT ON COLUMN routine_block.is_exit IS 'Edges from it leave the routine';
COMMENT ON TABLE loop IS 'Loops of the control-flow graph';
COMMENT ON COLUMN loop.loop_id IS 'Dense from 1, in the order of the file';
COMMENT ON COLUMN loop.routine_id IS 'Its routine, NULL without routines';
COMMENT ON COLUMN loop.function_id IS 'Function that holds its header';
COMMENT ON COLUMN loop.header_block_id IS 'Basic block with which each iteration begins';
COMMENT ON COLUMN loop.parent_loop_id IS 'The smallest loop around it in the same routine, NULL for an outermost loop';
COMMENT ON COLUMN loop.depth IS 'Loops around it';
COMMENT ON COLUMN loop.entries IS 'How often it was entered; NULL if not known';
COMMENT ON COLUMN loop.iterations IS 'How often its header ran; NULL if not known';
COMMENT ON COLUMN loop.steps IS 'Instructions executed in its blocks, those of inner loops included, those of what they call not; NULL if not known';
COMMENT ON TABLE loop_block IS 'Basic blocks of each loop, those of inner loops included';
COMMENT ON COLUMN loop_block.loop_id IS 'The loop';
COMMENT ON COLUMN loop_block.basic_block_id IS 'The basic block';
COMMENT ON COLUMN loop_block.is_back_edge_source IS 'An edge goes back from it to the header';
COMMENT ON TABLE loop_instance IS 'Runs of loops: from an entry to the next step of the call instance outside of the loop, or to its end';
COMMENT ON COLUMN loop_instance.loop_instance_id IS 'Dense from 1 in order of first step';
COMMENT ON COLUMN loop_instance.loop_id IS 'The loop';
COMMENT ON COLUMN loop_instance.instance IS 'Number among the runs of the loop, from 1';
COMMENT ON COLUMN loop_instance.call_id IS 'Call instance that runs it';
COMMENT ON COLUMN loop_instance.parent_instance_id IS 'Run of the loop around it in the same call instance, NULL for an outermost loop';
COMMENT ON COLUMN loop_instance.thread_id IS 'Thread';
COMMENT ON COLUMN loop_instance.start_seq IS 'First step, inclusive';
COMMENT ON COLUMN loop_instance.end_seq IS 'Last step in the loop''s own blocks or in what they call, inclusive';
COMMENT ON COLUMN loop_instance.iterations IS 'How often the header ran';
COMMENT ON TABLE loop_iteration IS 'Iterations of each run of a loop';
COMMENT ON COLUMN loop_iteration.loop_instance_id IS 'The run';
COMMENT ON COLUMN loop_iteration.iteration IS 'From 1';
COMMENT ON COLUMN loop_iteration.start_seq IS 'First step of the header';
