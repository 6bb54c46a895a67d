-- Data between call instances, those pairs with the most bytes, with the places in the run between which an arrow can be drawn: steps of
-- the two instances themselves. Stubs merged into their callers.
-- reads: control_flow, function_call
-- needs: TEMP VIEW instance_flow
-- param top BIGINT: pairs at most
-- writer_thread, reader_thread, writer_first, writer_last, reader_first, reader_last (seq), bytes, transfers, via (all that it went
-- through)
WITH flow AS (
    SELECT writer, reader, via, sum(bytes) AS bytes, sum(transfers) AS transfers
    FROM instance_flow WHERE writer > 0 AND writer <> reader GROUP BY writer, reader, via),
pair AS (
    SELECT writer, reader, CAST(sum(bytes) AS BIGINT) AS bytes, CAST(sum(transfers) AS BIGINT) AS transfers,
           string_agg(via, ', ' ORDER BY via) AS via
    FROM flow GROUP BY writer, reader ORDER BY 3 DESC, writer, reader LIMIT $1),
own AS (SELECT call_id, min(start_seq) AS first, max(end_seq) AS last FROM control_flow GROUP BY call_id)
SELECT wc.thread_id AS writer_thread, rc.thread_id AS reader_thread, w.first AS writer_first, w.last AS writer_last,
       r.first AS reader_first, r.last AS reader_last, p.bytes, p.transfers, p.via
FROM pair p JOIN own w ON w.call_id = p.writer JOIN own r ON r.call_id = p.reader
JOIN function_call wc ON wc.call_id = p.writer JOIN function_call rc ON rc.call_id = p.reader
ORDER BY p.writer, p.reader;
