-- Dependences by pair of instructions and kind.
-- reads: dependence
-- kind, write_instruction_id, read_instruction_id, count
SELECT kind, write_instruction_id, read_instruction_id, count(*) AS count
FROM dependence
WHERE write_instruction_id IS NOT NULL
GROUP BY ALL
ORDER BY ALL;
