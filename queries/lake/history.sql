-- One function, call or data edge over the values of a label: least, mean and most over the runs of each.
-- theme: trends
-- reads: measure, thing, label
-- param one name: the function; the caller; the writer; FILE:NAME where a name is not enough
-- param two name = -: the callee; the reader; - for the function itself
-- param label value = size: label to follow
-- param measure value = all: steps, calls, bytes, buffer or iterations (all: these); steps_total, written_bytes, dead_bytes or unique_bytes
-- none: no run has this figure of it: calls, bytes, buffer and unique_bytes are of a call or an edge (two names), steps, steps_total, written_bytes and dead_bytes of a function
WITH chosen AS (
    SELECT thing_key, measure, one, two, via FROM thing
    WHERE (one = $1 OR concat(one_file, ':', one) = $1)
      AND (two = CASE WHEN $2 = '-' THEN '' ELSE $2 END OR (two <> '' AND concat(two_file, ':', two) = $2)))
SELECT c.measure, c.one, c.two, c.via, l.rest AS labels, l.value AS label, l.number, count(*) AS runs, min(m.value) AS least,
       round(avg(m.value), 1) AS mean, max(m.value) AS most
FROM measure m JOIN chosen c ON c.thing_key = m.thing_key JOIN label l ON l.run_id = m.run_id
WHERE l.label = $3 AND (m.measure = $4 OR ($4 = 'all' AND m.measure IN ('steps', 'calls', 'bytes', 'buffer', 'iterations')))
GROUP BY c.measure, c.one, c.two, c.via, l.rest, l.value, l.number
ORDER BY c.measure, c.one, c.two, c.via, l.rest, l.number NULLS LAST, l.value
