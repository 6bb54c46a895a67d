-- Where in the run the first communications from one function to another are.
-- reads: dataflow, function_call
-- param writer INTEGER: function id of the writer
-- param reader INTEGER: function id of the reader
-- param instance INTEGER = NULL: call instance of the reader
-- param limit BIGINT: communications that are wanted
-- first, last (seq; between them are at least as many as wanted, or all), transfers (all of them)
WITH pair AS (
    SELECT c.call_seq, c.return_seq, sum(d.transfers) AS transfers
    FROM dataflow d JOIN function_call c ON c.call_id = d.reader_call_id
    WHERE d.writer_function_id = $1 AND d.reader_function_id = $2 AND (CAST($3 AS INTEGER) IS NULL OR c.instance = $3)
    GROUP BY d.reader_call_id, c.call_seq, c.return_seq),
running AS (SELECT *, sum(transfers) OVER (ORDER BY call_seq) - transfers AS before FROM pair)
SELECT min(call_seq) AS first, max(return_seq) AS last, CAST((SELECT sum(transfers) FROM pair) AS BIGINT) AS transfers
FROM running WHERE before < $4;
