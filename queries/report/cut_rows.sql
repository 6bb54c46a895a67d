-- Communications of a part of the run as they are stored.
-- reads: communication_row
-- param first BIGINT: first seq of the reads
-- param last BIGINT: last seq
-- read_seq, write_back (NULL: no step wrote), kind_id, address
SELECT read_seq, write_back, kind_id, address FROM communication_row WHERE read_seq BETWEEN CAST($1 AS BIGINT) AND CAST($2 AS BIGINT);
