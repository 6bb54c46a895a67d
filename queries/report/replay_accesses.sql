-- Accesses of all blocks, in order.
-- reads: block_access
-- duckdb-only: reads the low level
-- block_id, step, ordinal, is_write, register_address, memory_index (NULL: a register), size (bytes), is_control, data_register,
-- value_index (into the values of a run; NULL: none are kept)
SELECT block_id, step::UINTEGER AS step, ordinal, is_write, register_address,
       CASE WHEN space = 'memory' THEN memory_index END::UINTEGER AS memory_index, size, is_control, data_register,
       value_index::UINTEGER AS value_index
FROM block_access ORDER BY block_id, step, ordinal;
