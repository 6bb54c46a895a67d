-- Where in the run the first communications from a set of functions to another are.
-- reads: dataflow, function_call
-- needs: TEMP TABLE writer_function, reader_function (function_id: of each set)
-- param inside BOOLEAN: of a function that is in both sets, count what it reads of its own
-- param instance INTEGER = NULL: call instance of the readers
-- param limit BIGINT: communications that are wanted
-- first, last (seq; between them are at least as many as wanted, or all), transfers (all of them)
WITH pair AS (
    SELECT c.call_seq, c.return_seq, sum(d.transfers) AS transfers
    FROM dataflow d JOIN function_call c ON c.call_id = d.reader_call_id
    WHERE d.writer_function_id IN (SELECT function_id FROM writer_function)
      AND d.reader_function_id IN (SELECT function_id FROM reader_function)
      AND ($1 OR d.writer_function_id <> d.reader_function_id) AND (CAST($2 AS INTEGER) IS NULL OR c.instance = $2)
    GROUP BY d.reader_call_id, c.call_seq, c.return_seq),
running AS (SELECT *, sum(transfers) OVER (ORDER BY call_seq) - transfers AS before FROM pair)
SELECT min(call_seq) AS first, max(return_seq) AS last, CAST((SELECT sum(transfers) FROM pair) AS BIGINT) AS transfers
FROM running WHERE before < $3;
