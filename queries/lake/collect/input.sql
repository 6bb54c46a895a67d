-- What the run's database was built from
-- reads: input
-- column role VARCHAR: trace or elf
-- column path VARCHAR: As given on the command line; - is standard input
-- column format VARCHAR: Name of the format
-- column bytes BIGINT: Size as read
-- column hash VARCHAR: Hash of the contents, NULL for a pipe
-- column options VARCHAR: Build options that change the contents
SELECT role, path, format, CAST(size AS BIGINT) AS bytes, hash, options FROM input ORDER BY input_id
