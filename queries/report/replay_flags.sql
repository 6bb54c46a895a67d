-- Control registers but the program counter and the stack pointer: flags and what else decides without being data.
-- reads: register
-- address, size (bytes)
SELECT address, size FROM register
WHERE is_control AND lower(name) NOT IN ('rip', 'eip', 'pc', 'rsp', 'esp', 'sp', 'cs', 'ds', 'es', 'ss', 'fs', 'gs');
