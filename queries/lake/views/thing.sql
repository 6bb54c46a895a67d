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
-- column is_local BOOLEAN: Data that one function wrote and read itself
SELECT DISTINCT function_key AS thing_key, program, 'steps' AS measure, function AS one, file AS one_file, '' AS two, '' AS two_file,
       '' AS via, false AS is_local FROM function
UNION ALL SELECT DISTINCT call_key, program, 'calls', caller, caller_file, callee, callee_file, '', false FROM call
UNION ALL SELECT DISTINCT edge_key, program, 'bytes', writer, writer_file, reader, reader_file, via,
       writer = reader AND writer_file = reader_file FROM edge
UNION ALL SELECT DISTINCT -edge_key, program, 'buffer', writer, writer_file, reader, reader_file, via,
       writer = reader AND writer_file = reader_file FROM edge
UNION ALL SELECT DISTINCT loop_key, program, 'iterations', function, file, concat('loop ', number), '', '',
       false FROM loop
