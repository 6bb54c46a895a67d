-- Every communication that was found, one row each, in the order of the reads.
-- reads: instruction, source_file, variable, register, function_symbol
-- needs: TEMP TABLE found (as flows_window.sql gives), memory_place (as flows_places.sql gives)
-- duckdb-only: ASOF joins and list functions
-- writer_function, reader_function, write_seq, write_instruction, write_line, read_seq, read_instruction, read_line, via, place (variable
-- with element and offset, or register, else address), address, bytes
WITH named AS (
    SELECT f.*, p.via, v.name, f.address - v.address AS offset_bytes, v.size,
           regexp_extract_all(coalesce(v.type_name, ''), '\[(\d+)\]', 1)::BIGINT[] AS dimensions
    FROM found f
    ASOF JOIN memory_place p ON f.address >= p.start
    LEFT JOIN variable v ON NOT f.is_register AND v.variable_id = p.variable_id),
element AS (
    SELECT *, greatest(size // coalesce(list_product(dimensions), 1)::UBIGINT, 1) AS element_size FROM named),
placed AS (
    SELECT *, offset_bytes // element_size AS flat,
           name || array_to_string(list_transform(range(1, len(dimensions) + 1),
               k -> '[' || ((offset_bytes // element_size) // coalesce(list_product(dimensions[k + 1:]), 1)::UBIGINT)::BIGINT % dimensions[k] || ']'), '')
           || CASE WHEN offset_bytes % element_size > 0 THEN '+' || (offset_bytes % element_size) ELSE '' END AS variable
    FROM element)
SELECT wn.name AS writer_function, rn.name AS reader_function,
       p.write_seq, w.text AS write_instruction, parse_filename(wf.path) || ':' || w.line AS write_line,
       p.read_seq, r.text AS read_instruction, parse_filename(rf.path) || ':' || r.line AS read_line,
       CASE WHEN p.is_register THEN 'register' ELSE p.via END AS via,
       CASE WHEN p.is_register THEN g.name
            ELSE coalesce(p.variable, printf('0x%x', p.address)) END AS place,
       CASE WHEN NOT p.is_register THEN printf('0x%x', p.address) END AS address, p.bytes
FROM placed p
ASOF LEFT JOIN (SELECT address, arg_min(name, (size, name)) AS name FROM register GROUP BY ALL) g ON p.address >= g.address
JOIN instruction r ON r.instruction_id = p.read_instruction_id
JOIN function_symbol wn ON wn.function_id = p.writer_function_id
JOIN function_symbol rn ON rn.function_id = p.reader_function_id
LEFT JOIN instruction w ON w.instruction_id = p.write_instruction_id
LEFT JOIN source_file wf ON wf.file_id = w.file_id
LEFT JOIN source_file rf ON rf.file_id = r.file_id
ORDER BY p.read_seq, p.read_ordinal, p.address, p.write_seq, p.writer_function_id;
