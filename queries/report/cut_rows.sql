-- Communications of a part of the run as they are stored.
-- reads: communication_row
-- duckdb-only: addresses of 64 bits without a sign
-- param first BIGINT: first seq of the reads
-- param last BIGINT: last seq
-- read_seq, write_back (NULL: no step wrote), kind_id, address
SELECT read_seq, write_back, kind_id, address FROM communication_row WHERE read_seq BETWEEN $1::BIGINT AND $2::BIGINT;
