-- Every byte of a data read with the instances, functions and place of both ends.
-- reads: data_read, step_call, opcode_line, section, region, meta
-- read_id, write_id, byte, thread_id, via, reader_call_id, writer_call_id, writer, reader (function names), instructions of both ends
CREATE TEMP TABLE located_read AS
WITH step AS (SELECT seq, c.call_id, o.instruction_id, c.function_id FROM step_call c JOIN opcode_line o USING (seq)),
touched AS (SELECT DISTINCT is_register, byte FROM data_read),
placed AS (
    SELECT t.is_register, t.byte, CASE WHEN s.address IS NOT NULL AND t.byte - s.address < s.size THEN s.name END AS section,
           CASE WHEN t.is_register THEN 'register'
                WHEN s.address IS NOT NULL AND t.byte - s.address < s.size THEN
                    CASE WHEN s.writable THEN 'global' ELSE 'constant' END
                ELSE r.via END AS via
    FROM touched t
    ASOF LEFT JOIN section s ON t.byte >= s.address
    ASOF LEFT JOIN region r ON t.byte >= r.first_address)
SELECT d.read_id, d.write_id, d.byte, d.is_register, d.thread_id, p.via, rs.call_id AS reader_call_id, ws.call_id AS writer_call_id,
       rs.function_id AS reader_function_id, rs.instruction_id AS reader_instruction_id, ws.instruction_id AS writer_instruction_id,
       coalesce(ws.function_id, (SELECT function_id FROM function_symbol WHERE kind = 'pseudo' AND name =
           CASE WHEN d.is_register THEN '<initial registers>'
                WHEN p.section IS NOT NULL THEN '<image ' || p.section || '>'
                WHEN p.via = 'stack' AND d.byte >= (SELECT value::UBIGINT FROM meta WHERE key = 'first_stack_pointer')
                    THEN '<stack start>'
                WHEN p.via = 'stack' THEN '<uninitialised>' ELSE '<input>' END)) AS writer_function_id
FROM data_read d
JOIN placed p ON p.is_register = d.is_register AND p.byte = d.byte
JOIN step rs ON rs.seq = d.read_id // 65536
LEFT JOIN step ws ON ws.seq = d.write_id // 65536;
