-- Every communication that was found, one row each, in the order of the reads.
-- reads: instruction, source_file, variable, variable_dimension, register, function_symbol, allocation, function_call, thread, process
-- needs: TEMP TABLE found (as flows_window.sql gives), found_place (of those in memory: read_seq, address, via, variable_id)
-- duckdb-only: ASOF joins and list functions
-- writer_function, reader_function, write_seq, write_instruction, write_line, read_seq, read_instruction, read_line, via, place (variable
-- with element and offset, or register, of what was allocated where and by whom, else address), address, bytes
WITH RECURSIVE shape AS (
    SELECT variable_id, list(d ORDER BY position) AS dimensions, min(stride) AS element_size, any_value(brackets) AS brackets
    FROM variable_dimension d GROUP BY ALL),
named AS (
    SELECT f.*, p.via, v.name, f.address - v.address AS offset_bytes, s.brackets, coalesce(s.element_size, v.size) AS element_size,
           list_transform(s.dimensions, d -> d.first + (CASE WHEN d.length > 0 THEN (offset_bytes // d.stride) % d.length
                                                             ELSE offset_bytes // d.stride END)::BIGINT) AS indices
    FROM found f
    LEFT JOIN found_place p ON p.read_seq = f.read_seq AND p.address = CASE WHEN NOT f.is_register THEN f.address END
    LEFT JOIN variable v ON v.variable_id = p.variable_id
    LEFT JOIN shape s ON s.variable_id = p.variable_id),
placed AS (
    SELECT *, name || CASE brackets WHEN '[]' THEN '[' || array_to_string(indices, '][') || ']'
                                    WHEN '()' THEN '(' || array_to_string(indices, ',') || ')' ELSE '' END
           || CASE WHEN offset_bytes % element_size > 0 THEN '+' || (offset_bytes % element_size) ELSE '' END AS variable
    FROM named),
-- The steps of a process follow those of the one before.
span AS (
    SELECT p.process_id, p.name, CASE WHEN count(*) OVER () = 1 THEN 9223372036854775807 ELSE sum(t.steps) OVER (ORDER BY process_id) END AS last
    FROM process p JOIN (SELECT process_id, sum(steps) AS steps FROM thread GROUP BY ALL) t USING (process_id)),
located AS (
    SELECT a.seq, a.address, a.bytes, s.process_id, s.name FROM (FROM allocation WHERE kind = 'allocate') a ASOF JOIN span s ON a.seq <= s.last),
read AS (
    SELECT r.*, s.process_id, s.name
    FROM (SELECT DISTINCT read_seq, address FROM placed WHERE NOT is_register AND via = 'heap' AND variable IS NULL) r
    ASOF JOIN span s ON r.read_seq <= s.last),
-- What the process allocated last that has the address, before it was read; else what the one did that it was forked from.
allocated AS (
    SELECT r.read_seq, r.address, arg_max(a.seq, (a.process_id, a.seq)) AS seq, arg_max(a.address, (a.process_id, a.seq)) AS start
    FROM read r JOIN located a ON a.seq < r.read_seq AND a.address <= r.address AND r.address - a.address < a.bytes
        AND (a.process_id = r.process_id OR a.name = r.name)
    GROUP BY ALL),
allocator AS (
    SELECT a.seq, arg_min(c.call_id, c.depth) AS call_id
    FROM (SELECT DISTINCT seq FROM allocated) a JOIN function_call c ON c.return_seq = a.seq GROUP BY ALL),
-- A stub that was called is replaced by the function, the first time by way of the dynamic linker.
entered AS (
    SELECT seq, c.call_instruction_id, c.tail_of_call_id FROM allocator JOIN function_call c USING (call_id)
    UNION ALL
    SELECT seq, c.call_instruction_id, c.tail_of_call_id FROM entered e JOIN function_call c ON c.call_id = e.tail_of_call_id),
site AS (
    SELECT o.seq, f.name || ' in ' || coalesce(n.name, '?') || coalesce(', ' || parse_filename(s.path) || ':' || i.line, '') AS name
    FROM allocator o JOIN function_call c USING (call_id) JOIN function_symbol f ON f.function_id = c.function_id
    LEFT JOIN entered e ON e.seq = o.seq AND e.tail_of_call_id IS NULL
    LEFT JOIN function_call q ON q.call_id = c.parent_call_id LEFT JOIN function_symbol n ON n.function_id = q.function_id
    LEFT JOIN instruction i ON i.instruction_id = e.call_instruction_id
    LEFT JOIN source_file s ON s.file_id = i.file_id)
SELECT wn.name AS writer_function, rn.name AS reader_function,
       p.write_seq, w.text AS write_instruction, parse_filename(wf.path) || ':' || w.line AS write_line,
       p.read_seq, r.text AS read_instruction, parse_filename(rf.path) || ':' || r.line AS read_line,
       CASE WHEN p.is_register THEN 'register' ELSE p.via END AS via,
       CASE WHEN p.is_register THEN g.name
            ELSE coalesce(p.variable, t.name || ' +' || (p.address - o.start), printf('0x%x', p.address)) END AS place,
       CASE WHEN NOT p.is_register THEN printf('0x%x', p.address) END AS address, p.bytes
FROM placed p
ASOF LEFT JOIN (SELECT address, arg_min(name, (size, name)) AS name FROM register GROUP BY ALL) g ON p.address >= g.address
JOIN instruction r ON r.instruction_id = p.read_instruction_id
JOIN function_symbol wn ON wn.function_id = p.writer_function_id
JOIN function_symbol rn ON rn.function_id = p.reader_function_id
LEFT JOIN instruction w ON w.instruction_id = p.write_instruction_id
LEFT JOIN allocated o ON o.read_seq = p.read_seq AND o.address = p.address AND NOT p.is_register
LEFT JOIN site t ON t.seq = o.seq
LEFT JOIN source_file wf ON wf.file_id = w.file_id
LEFT JOIN source_file rf ON rf.file_id = r.file_id
ORDER BY p.read_seq, p.read_ordinal, p.address, p.write_seq, p.writer_function_id;
