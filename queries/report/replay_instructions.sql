-- Executed instructions.
-- reads: instruction
-- instruction_id, function_id, address, size (bytes), transfers (may go elsewhere than on), conditional
SELECT instruction_id, function_id, address, size, class IN ('jump', 'call', 'return', 'exception_return', 'trap') AS transfers, conditional
FROM instruction ORDER BY instruction_id;
