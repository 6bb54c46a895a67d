-- A slice along recorded dependences: instances of instructions, the nearest first.
-- reads: dependence, instruction, function_symbol, source_file, instruction_value
-- needs: TEMP TABLE slice_start (instruction_id, instance), TEMP VIEW slice_edge (from_id, from_instance, to_id, to_instance, kind)
-- duckdb-only: recursion USING KEY
-- param depth BIGINT: dependences from the criterion at most
-- param limit BIGINT: rows at most
-- depth, why (kind of the dependence; criterion), function, address, instruction, line, instance, value (that it computed)
WITH RECURSIVE reached(instruction_id, instance, depth, why) USING KEY (instruction_id, instance) AS (
    SELECT instruction_id, instance, 0::BIGINT, 'criterion' FROM slice_start
    UNION
    SELECT e.to_id, e.to_instance, r.depth + 1, coalesce(e.kind, 'unknown')
    FROM reached r JOIN slice_edge e ON e.from_id = r.instruction_id AND e.from_instance = r.instance
    WHERE r.depth < $1
          AND NOT EXISTS (FROM recurring.reached o WHERE o.instruction_id = e.to_id AND o.instance = e.to_instance))
SELECT r.depth, r.why, s.name AS function, printf('0x%x', i.address) AS address, i.text AS instruction,
       parse_filename(f.path) || ':' || i.line AS line, r.instance, coalesce(printf('0x%x', v.value), '0x' || v.wide_value) AS value
FROM reached r JOIN instruction i USING (instruction_id) JOIN function_symbol s USING (function_id)
LEFT JOIN source_file f ON f.file_id = i.file_id
LEFT JOIN instruction_value v ON v.instruction_id = r.instruction_id AND v.instance = r.instance
ORDER BY r.depth, i.address, r.instance
LIMIT $2;
