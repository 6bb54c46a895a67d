-- Use ports with a dependence, but with fewer than the instruction has executions.
-- reads: use_port, instruction
-- ports
SELECT count(*) FROM use_port p JOIN instruction i USING (instruction_id)
WHERE p.dependences > 0 AND p.dependences < i.executions;
