-- Acyclic paths of functions, numbered after Ball and Larus, as CSI's path tracing has them. There is the control flow of instrumented
-- functions, and there are the frames of stopped programs with the paths that they had run.
CREATE TABLE path_function (
    function_id INTEGER NOT NULL, paths UBIGINT, increments BOOLEAN, position VARCHAR NOT NULL);
CREATE TABLE path_block (
    path_block_id INTEGER NOT NULL, function_id INTEGER NOT NULL, number UBIGINT NOT NULL, kind VARCHAR NOT NULL, executions BIGINT);
CREATE TABLE path_block_line (path_block_id INTEGER NOT NULL, position INTEGER NOT NULL, line INTEGER);
CREATE TABLE path_edge (
    path_edge_id INTEGER NOT NULL, function_id INTEGER NOT NULL, source_block_id INTEGER NOT NULL, target_block_id INTEGER NOT NULL,
    restarts BOOLEAN NOT NULL, increment UBIGINT NOT NULL, weight UBIGINT NOT NULL, path_weight UBIGINT, end_weight UBIGINT,
    end_increment UBIGINT, executions BIGINT);
CREATE TABLE path_frame (
    frame_id INTEGER NOT NULL, call_id INTEGER NOT NULL, function_id INTEGER NOT NULL, file_id INTEGER, line INTEGER,
    slots INTEGER, next_slot BIGINT, wrapped BOOLEAN, current_path BIGINT, calls_covered VARCHAR, blocks_covered VARCHAR);
CREATE TABLE executed_path (
    executed_path_id INTEGER NOT NULL, frame_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, state VARCHAR NOT NULL,
    alternatives INTEGER NOT NULL, number BIGINT, begin_edge_id INTEGER, end_edge_id INTEGER, ends_at_exit BOOLEAN);
CREATE TABLE executed_path_block (executed_path_id INTEGER NOT NULL, position INTEGER NOT NULL, path_block_id INTEGER NOT NULL);
CREATE VIEW executed_path_line AS
    SELECT b.executed_path_id, b.position, p.number AS block, l.position AS line_position, l.line
    FROM executed_path_block b JOIN path_block p USING (path_block_id) JOIN path_block_line l USING (path_block_id)
    WHERE l.line IS NOT NULL;

COMMENT ON TABLE path_function IS 'Functions that were instrumented; one with too many paths is not';
COMMENT ON COLUMN path_function.function_id IS 'The function';
COMMENT ON COLUMN path_function.paths IS 'Number of its paths: their numbers are 0 to paths - 1; NULL if the numbers in the file are not a numbering';
COMMENT ON COLUMN path_function.increments IS 'The increments of the program along each path add up to its number';
COMMENT ON COLUMN path_function.position IS 'Where its description begins';
COMMENT ON TABLE path_block IS 'Basic blocks of instrumented functions';
COMMENT ON COLUMN path_block.path_block_id IS 'Dense from 1, in the order of the file';
COMMENT ON COLUMN path_block.function_id IS 'Its function';
COMMENT ON COLUMN path_block.number IS 'As in the file; unique in its function only';
COMMENT ON COLUMN path_block.kind IS 'entry, exit (no code) or block';
COMMENT ON COLUMN path_block.executions IS 'How often it is in the paths of frames, those under way included: a lower bound; NULL without frames';
COMMENT ON TABLE path_block_line IS 'Source lines of the statements of each block';
COMMENT ON COLUMN path_block_line.path_block_id IS 'The block';
COMMENT ON COLUMN path_block_line.position IS 'Order in the block, from 0';
COMMENT ON COLUMN path_block_line.line IS 'Line; NULL: here the number of a finished path is stored';
COMMENT ON TABLE path_edge IS 'Edges of the control flow of instrumented functions';
COMMENT ON COLUMN path_edge.path_edge_id IS 'Dense from 1, in the order of the file';
COMMENT ON COLUMN path_edge.function_id IS 'Its function';
COMMENT ON COLUMN path_edge.source_block_id IS 'Block that it leaves';
COMMENT ON COLUMN path_edge.target_block_id IS 'Block that it enters';
COMMENT ON COLUMN path_edge.restarts IS 'It ends a path and begins another: it goes back, or was cut because of too many paths';
COMMENT ON COLUMN path_edge.increment IS 'Amount that the program adds to the number of its path; if it restarts: the number that the next path begins with';
COMMENT ON COLUMN path_edge.weight IS 'As in the file: what it adds to the number of a whole path; if it restarts: of the one that begins';
COMMENT ON COLUMN path_edge.path_weight IS 'The same where the file lacks it: an edge to a block that was put into an edge that goes back. NULL if the numbers are not a numbering';
COMMENT ON COLUMN path_edge.end_weight IS 'If it restarts: what it adds to the number of the path that it ends, found as the gap in the numbers of its source';
COMMENT ON COLUMN path_edge.end_increment IS 'If it restarts: what the program adds when the path ends';
COMMENT ON COLUMN path_edge.executions IS 'How often it is in the paths of frames: a lower bound; NULL without frames';
COMMENT ON TABLE path_frame IS 'Frames of stopped programs with the paths that they had run';
COMMENT ON COLUMN path_frame.frame_id IS 'Dense from 1, outermost first';
COMMENT ON COLUMN path_frame.call_id IS 'Call instance';
COMMENT ON COLUMN path_frame.function_id IS 'Function';
COMMENT ON COLUMN path_frame.file_id IS 'Source file';
COMMENT ON COLUMN path_frame.line IS 'Line at which it stands';
COMMENT ON COLUMN path_frame.slots IS 'Paths that its array can hold, NULL if it has none';
COMMENT ON COLUMN path_frame.next_slot IS 'Slot that the next finished path goes to';
COMMENT ON COLUMN path_frame.wrapped IS 'The array was full and earlier paths are lost';
COMMENT ON COLUMN path_frame.current_path IS 'Count of the path under way, 0 after the end of one';
COMMENT ON COLUMN path_frame.calls_covered IS 'Calls that were made (1) or not, where they are recorded, in their order';
COMMENT ON COLUMN path_frame.blocks_covered IS 'Blocks that ran (1) or not, where they are recorded, in their order';
COMMENT ON TABLE executed_path IS 'Paths that frames had run, oldest first';
COMMENT ON COLUMN executed_path.executed_path_id IS 'Dense from 1';
COMMENT ON COLUMN executed_path.frame_id IS 'Frame';
COMMENT ON COLUMN executed_path.ordinal IS 'Order in the frame, from 1';
COMMENT ON COLUMN executed_path.state IS '`finished`; `open` (under way at the line of the frame); `behind`: the frame stands after the end of the path before it';
COMMENT ON COLUMN executed_path.alternatives IS 'How many paths fit what is known; of more than one all are here, with one ordinal';
COMMENT ON COLUMN executed_path.number IS 'Path number; of one under way what was counted of it';
COMMENT ON COLUMN executed_path.begin_edge_id IS 'The path begins after this edge, NULL: at the entry';
COMMENT ON COLUMN executed_path.end_edge_id IS 'Edge with which it ends, NULL: at the exit, or not ended';
COMMENT ON COLUMN executed_path.ends_at_exit IS 'It ends at the exit; NULL if the number does not belong to a path';
COMMENT ON TABLE executed_path_block IS 'Blocks of these paths';
COMMENT ON COLUMN executed_path_block.executed_path_id IS 'The path';
COMMENT ON COLUMN executed_path_block.position IS 'Order in the path, from 0';
COMMENT ON COLUMN executed_path_block.path_block_id IS 'The block';
COMMENT ON VIEW executed_path_line IS 'Source lines of executed paths in order: executed_path_id, position and number of the block, line_position, line';
