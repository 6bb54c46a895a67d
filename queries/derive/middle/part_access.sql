-- Accesses of parts of blocks with the instruction that makes them, where memory of one kind ends, and what windows fill.
-- reads: block_access, block_step, block_part, section, region, meta
-- part_access: as block_access with part, instruction_id; border: word, mask (bit n: something ends or begins before byte n)
-- held: is_register, owner, word, low, high (bytes of the word), writer (last write): what the windows before have left
CREATE TEMP TABLE part_access AS
SELECT a.*, p.part, s.instruction_id
FROM block_access a JOIN block_part p ON p.block_id = a.block_id AND a.step BETWEEN p.first_step AND p.last_step
JOIN block_step s ON s.block_id = a.block_id AND s.step = a.step;
-- Where one kind of memory ends and another one begins: between bytes of a word of eight.
CREATE TEMP TABLE border AS
WITH edge AS (
    SELECT address FROM section
    UNION SELECT (address::HUGEINT + size)::UBIGINT FROM section WHERE address::HUGEINT + size < 18446744073709551616
    UNION SELECT first_address FROM region
    UNION SELECT value::UBIGINT FROM meta WHERE key = 'first_stack_pointer')
SELECT address // 8 AS word, bit_or((1 << (address % 8)::INTEGER)::USMALLINT) AS mask FROM edge WHERE address % 8 <> 0 GROUP BY ALL;
-- What the writes up to the window left: by adjacent bytes of a word, from the first up to and without the last.
CREATE TEMP TABLE held (
    is_register BOOLEAN, owner INTEGER, word UBIGINT, low INTEGER, high INTEGER,
    writer STRUCT(write_id BIGINT, call_id INTEGER, instruction_id INTEGER));
-- What the windows of `save_window` fill.
CREATE TEMP TABLE frame_store (
    store_id BIGINT, read_id BIGINT, register_address UINTEGER, size UINTEGER, address UBIGINT, value UBIGINT, thread_id INTEGER,
    call_id INTEGER, ends_before BIGINT);
CREATE TEMP TABLE reload (read_id BIGINT, store_id BIGINT, write_id BIGINT, thread_id INTEGER, register_address UINTEGER, size UINTEGER);
CREATE TEMP TABLE exposure (store_id BIGINT, read_id BIGINT);
CREATE TEMP TABLE stored_atom (
    store_id BIGINT, call_id INTEGER, owner INTEGER, word UBIGINT, low INTEGER, high INTEGER,
    writer STRUCT(write_id BIGINT, call_id INTEGER, instruction_id INTEGER));
