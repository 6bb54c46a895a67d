-- Accesses of parts of blocks, and who wrote the registers that they read: as far as the part itself wrote them that is the same at each of its runs.
-- reads: block_access, block_step, block_part, instruction, section, region, meta
-- access_code: accesses that are data, or a call's stores: code_id, part_id, step, slot (step * 65536 + ordinal), is_write, is_register,
-- register_address, memory_index, value_index, size, is_stack_relative, data_register, instruction_id, function_id
-- register_cell: bytes of the register file by cell (its first byte; bytes that the runs of parts always leave by one write), bit (of masks of cells)
-- part_write: what a part leaves in cells: part_id, cell, slot, code_id
-- register_piece: adjacent bytes of a cell that a read (code_id) takes from one write of its own part (fed_code) or from before it (NULL)
-- reload_code: loads into a register (code_id), with the write of it; store_code: stores of registers that may be saves
-- border: word, mask (bit n: something ends or begins before byte n); held, held_register: what the windows before have left
CREATE TEMP TABLE access_code AS
SELECT row_number() OVER ()::INTEGER AS code_id, p.part_id, a.step, a.step::BIGINT * 65536 + a.ordinal AS slot, a.is_write,
       a.space = 'register' AS is_register, a.register_address::INTEGER AS register_address, a.memory_index, a.value_index,
       a.size::INTEGER AS size, a.is_stack_relative, a.data_register::INTEGER AS data_register, s.instruction_id, n.function_id
FROM block_access a JOIN block_part p ON p.block_id = a.block_id AND a.step BETWEEN p.first_step AND p.last_step
JOIN block_step s ON s.block_id = a.block_id AND s.step = a.step JOIN instruction n ON n.instruction_id = s.instruction_id
WHERE NOT a.is_control OR (a.is_write AND a.space = 'memory');
CREATE TEMP TABLE register_byte AS
SELECT *, last_value(CASE WHEN is_write THEN code_id END IGNORE NULLS) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS fed_code,
       is_write AND slot = max(CASE WHEN is_write THEN slot END) OVER (PARTITION BY part_id, byte) AS is_left
FROM (SELECT code_id, part_id, slot, is_write, register_address + k::INTEGER AS byte FROM access_code, unnest(range(size)) AS t(k) WHERE is_register)
WINDOW w AS (PARTITION BY part_id, byte ORDER BY slot);
CREATE TEMP TABLE register_cell AS
WITH left_byte AS (
    SELECT byte, lag(byte) OVER b = byte - 1 AND lag(code_id) OVER b = code_id AS goes_on, lead(byte) OVER b = byte + 1 AS is_followed
    FROM register_byte WHERE is_left WINDOW b AS (PARTITION BY part_id ORDER BY byte)),
begin AS (
    SELECT byte FROM left_byte WHERE goes_on IS NOT TRUE
    UNION SELECT byte + 1 FROM left_byte WHERE is_followed IS NOT TRUE
    UNION SELECT byte // 32 * 32 FROM register_byte),
every AS (SELECT DISTINCT byte FROM register_byte)
SELECT e.byte, b.byte AS cell, (1::UBIGINT << (e.byte % 32)) AS bit FROM every e ASOF JOIN begin b ON e.byte >= b.byte;
CREATE TEMP TABLE part_write AS
SELECT DISTINCT part_id, cell, slot, code_id FROM register_byte JOIN register_cell USING (byte) WHERE is_left;
CREATE TEMP TABLE register_piece AS
SELECT code_id, part_id, slot, fed_code, cell, min(byte) AS first, count(*)::INTEGER AS bytes, bit_or(bit) AS mask
FROM (SELECT r.*, c.cell, c.bit, r.byte - row_number() OVER (PARTITION BY r.code_id, r.fed_code, c.cell ORDER BY r.byte) AS island
      FROM register_byte r JOIN register_cell c USING (byte) WHERE NOT r.is_write)
GROUP BY code_id, part_id, slot, fed_code, cell, island;
DROP TABLE register_byte;
CREATE TEMP TABLE reload_code AS
SELECT l.code_id, l.part_id, l.slot, l.memory_index, l.value_index, l.size, l.data_register, w.code_id AS write_code, w.slot AS write_slot
FROM access_code l LEFT JOIN access_code w
    ON w.part_id = l.part_id AND w.step = l.step AND w.is_write AND w.is_register AND w.register_address = l.data_register AND w.size = l.size
WHERE NOT l.is_write AND NOT l.is_register AND l.data_register IS NOT NULL;
-- What its own instance computed in the same part is no save.
CREATE TEMP TABLE store_code AS
SELECT s.part_id, s.slot, s.memory_index, s.value_index, s.size, s.data_register, s.is_stack_relative, r.code_id AS read_code, r.slot AS read_slot
FROM access_code s JOIN access_code r
    ON r.part_id = s.part_id AND r.step = s.step AND NOT r.is_write AND r.is_register AND r.register_address = s.data_register AND r.size = s.size
WHERE s.is_write AND NOT s.is_register AND (SELECT value FROM meta WHERE key = 'saves') = 'transparent'
  AND r.code_id NOT IN (SELECT code_id FROM register_piece
                        WHERE fed_code IS NOT NULL AND fed_code NOT IN (SELECT write_code FROM reload_code WHERE write_code IS NOT NULL));
-- Where one kind of memory ends and another one begins: between bytes of a word of eight.
CREATE TEMP TABLE border AS
WITH edge AS (
    SELECT address FROM section
    UNION SELECT (address::HUGEINT + size)::UBIGINT FROM section WHERE address::HUGEINT + size < 18446744073709551616
    UNION SELECT first_address FROM region
    UNION SELECT value::UBIGINT FROM meta WHERE key = 'first_stack_pointer')
SELECT address // 8 AS word, bit_or((1 << (address % 8)::INTEGER)::USMALLINT) AS mask FROM edge WHERE address % 8 <> 0 GROUP BY ALL;
-- What the writes up to the window left: by adjacent bytes of a word, from the first up to and without the last.
CREATE TEMP TABLE held (word UBIGINT, low INTEGER, high INTEGER, write_id BIGINT, writer_call_id INTEGER, writer_code INTEGER);
CREATE TEMP TABLE held_register (thread_id INTEGER, cell INTEGER, write_id BIGINT, writer_call_id INTEGER, writer_code INTEGER);
-- Versions of bytes that call instances have read.
CREATE TEMP TABLE seen (thread_id INTEGER, place UBIGINT, write_id BIGINT, call_id INTEGER, mask UBIGINT);
-- What the windows of saves fill: saves and restores of the run, and what a restore's write gives back.
CREATE TEMP TABLE saved (
    store_id BIGINT, read_id BIGINT, read_code INTEGER, register_address INTEGER, size INTEGER, address UBIGINT, value UBIGINT,
    thread_id INTEGER, call_id INTEGER, ends_before BIGINT);
CREATE TEMP TABLE restore (read_id BIGINT, store_id BIGINT, write_id BIGINT, write_code INTEGER);
CREATE TEMP TABLE alias (id BIGINT, thread_id INTEGER, cell INTEGER, write_id BIGINT, writer_call_id INTEGER, writer_code INTEGER);
CREATE TEMP TABLE exposure (store_id BIGINT, read_id BIGINT);
-- Saves of the windows before that still lie in memory, and who wrote the registers.
CREATE TEMP TABLE live_store AS SELECT *, NULL::BIGINT AS exposed_id FROM saved;
CREATE TEMP TABLE live_cell (store_id BIGINT, cell INTEGER, write_id BIGINT, writer_call_id INTEGER, writer_code INTEGER);
