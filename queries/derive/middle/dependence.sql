-- Dependences of a WET trace: all of a comprehensive one, and those of a history that are not in it.
-- reads: instruction
-- needs: TEMP TABLE comprehensive, history (port, writer, write_instance, reader, read_instance), numbered (number, instruction_id),
--        class_kind (class, kind)
-- kind, port, write_instruction_id, write_instance, read_instruction_id, read_instance
WITH known AS (
    SELECT CASE c.port WHEN 0 THEN 'control' ELSE 'data' END AS kind, c.port, n.instruction_id AS write_instruction_id,
           c.write_instance, c.reader AS read_instruction_id, c.read_instance
    FROM comprehensive c LEFT JOIN numbered n ON n.number = c.writer)
FROM known
UNION ALL
SELECT k.kind, NULL, h.writer::INTEGER, h.write_instance, h.reader, h.read_instance
FROM history h JOIN instruction i ON i.instruction_id = h.writer LEFT JOIN class_kind k ON k.class = i.class
WHERE NOT EXISTS (
    FROM known w
    WHERE w.write_instruction_id = h.writer AND w.write_instance = h.write_instance AND w.read_instruction_id = h.reader
          AND w.read_instance = h.read_instance)
ORDER BY read_instruction_id, port, read_instance, write_instruction_id, write_instance, kind;
