-- Executed instructions at an address.
-- reads: instruction
-- param address UBIGINT: run-time address
-- instruction_id
SELECT instruction_id FROM instruction WHERE address = CAST(? AS UBIGINT);
