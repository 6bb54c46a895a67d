-- What has figures, with the names that all runs have in common
-- reads: function, call, edge, loop
-- column thing_key BIGINT: As in measure
-- column program VARCHAR: Program
-- column measure VARCHAR: Which figure, as in measure
-- column one VARCHAR: The function; the caller (empty for roots); the writer
-- column one_file VARCHAR: Its source file
-- column two VARCHAR: The callee; the reader; the loop's number; empty of a function
-- column two_file VARCHAR: Its source file
-- column via VARCHAR: Of data: register, stack, heap, global, constant, ...; else empty
-- column is_local BOOLEAN: Of one function to itself
-- column start_up BIGINT: 1: start-up, end, the dynamic linker or a stub in every run; 0: the program's own work in one at least
SELECT thing_key, program, measure, one, one_file, two, two_file, via, is_local, min(start_up) AS start_up
FROM (
    SELECT function_key AS thing_key, program, 'steps' AS measure, function AS one, file AS one_file, '' AS two, '' AS two_file, '' AS via, false AS is_local, start_up FROM function
    UNION ALL SELECT function_key + 1 AS thing_key, program, 'steps_total' AS measure, function AS one, file AS one_file, '' AS two, '' AS two_file, '' AS via, false AS is_local, start_up FROM function
    UNION ALL SELECT function_key + 2 AS thing_key, program, 'written_bytes' AS measure, function AS one, file AS one_file, '' AS two, '' AS two_file, '' AS via, false AS is_local, start_up FROM function
    UNION ALL SELECT function_key + 3 AS thing_key, program, 'dead_bytes' AS measure, function AS one, file AS one_file, '' AS two, '' AS two_file, '' AS via, false AS is_local, start_up FROM function
    UNION ALL SELECT call_key AS thing_key, program, 'calls' AS measure, caller AS one, caller_file AS one_file, callee AS two, callee_file AS two_file, '' AS via, caller = callee AND caller_file = callee_file AS is_local, start_up FROM call
    UNION ALL SELECT edge_key AS thing_key, program, 'bytes' AS measure, writer AS one, writer_file AS one_file, reader AS two, reader_file AS two_file, via, writer = reader AND writer_file = reader_file AS is_local, start_up FROM edge
    UNION ALL SELECT -edge_key AS thing_key, program, 'buffer' AS measure, writer AS one, writer_file AS one_file, reader AS two, reader_file AS two_file, via, writer = reader AND writer_file = reader_file AS is_local, start_up FROM edge
    UNION ALL SELECT -edge_key - 1 AS thing_key, program, 'unique_bytes' AS measure, writer AS one, writer_file AS one_file, reader AS two, reader_file AS two_file, via, writer = reader AND writer_file = reader_file AS is_local, start_up FROM edge
    UNION ALL SELECT loop_key AS thing_key, program, 'iterations' AS measure, function AS one, file AS one_file, concat('loop ', number) AS two, '' AS two_file, '' AS via, false AS is_local, start_up FROM loop) figures
GROUP BY thing_key, program, measure, one, one_file, two, two_file, via, is_local
