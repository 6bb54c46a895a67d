-- One function, call or data edge over the values of a label: least, mean and most over the runs of each.
-- theme: trends
-- reads: measure, thing, label
-- param one name: the function; the caller; the writer
-- param two name = -: the callee; the reader; - for the function itself
-- param label value = size: label to follow
-- param measure value = all: steps, calls, bytes, buffer or iterations
-- none: no run has that function, call or edge, or none has that label
WITH chosen AS (
    SELECT thing_key, measure, one, two, via FROM thing WHERE one = $1 AND two = CASE WHEN $2 = '-' THEN '' ELSE $2 END)
SELECT c.measure, c.one, c.two, c.via, l.rest AS labels, l.value AS label, l.number, count(*) AS runs, min(m.value) AS least,
       round(avg(m.value), 1) AS mean, max(m.value) AS most
FROM measure m JOIN chosen c ON c.thing_key = m.thing_key JOIN label l ON l.run_id = m.run_id
WHERE l.label = $3 AND ($4 = 'all' OR m.measure = $4)
GROUP BY c.measure, c.one, c.two, c.via, l.rest, l.value, l.number
ORDER BY c.measure, c.one, c.two, c.via, l.rest, l.number NULLS LAST, l.value
