-- What allocation functions gave and took back in a part of the run, where the trace tells, in order.
-- reads: allocation_row
-- param first BIGINT: first seq of the part, 0: before the first step
-- param last BIGINT: its last seq
-- seq (last step before it), thread_id, kind (allocate, free, reallocate), address, bytes
SELECT coalesce(seq, 0) AS seq, thread_id, kind, address, bytes
FROM allocation_row
WHERE coalesce(seq, 0) BETWEEN $1::BIGINT AND $2::BIGINT
ORDER BY coalesce(seq, 0), rowid;
