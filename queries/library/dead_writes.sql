-- Bytes that functions write into memory and nobody reads before they are overwritten or the run ends.
-- theme: data
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- param whose program or all = program: all, or only the program: without start-up, end and the dynamic linker
-- none: every byte that was written is read, or the trace has no data
SELECT function, dead_bytes, written_bytes, round(100.0 * dead_bytes / written_bytes, 1) AS percent, calls, file
FROM flat_profile
WHERE CASE WHEN dead_bytes IS NULL AND written_bytes > 0
           THEN CAST(error('sums that were added up while the program ran do not tell which bytes nobody reads: if there are steps (record --summed), addfg prepare DB finds them; else record without --no-steps') AS BOOLEAN)
           ELSE dead_bytes > 0 END AND ($2 = 'all' OR function_id NOT IN (FROM start_up_function))
ORDER BY dead_bytes DESC, function LIMIT $1;
