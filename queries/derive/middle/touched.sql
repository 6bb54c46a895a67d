-- Pages outside of sections that a window touches, by the mapping that they are of then.
-- reads: word_access, access_code, memory_event, interval, interval_section, interval_mapping
-- touched: of the run: page, since (of the mapping, 0: none), is_stack (touched stack relative)
-- each: window
CREATE OR REPLACE TEMP TABLE touched AS
WITH place AS (
    SELECT a.byte, coalesce(e.number, 0) AS epoch, bool_or(c.is_stack_relative) AS is_stack
    FROM (SELECT id, code_id, unnest([word * 8 + low, word * 8 + high - 1]) AS byte FROM word_access) a JOIN access_code c USING (code_id)
    ASOF LEFT JOIN memory_event e ON a.id > e.id GROUP BY ALL),
outside AS (
    SELECT p.byte // 4096 AS page, i.interval_id, p.epoch, p.is_stack
    FROM place p ASOF JOIN interval i ON p.byte >= i.first
    ASOF LEFT JOIN interval_section s ON s.interval_id = i.interval_id AND p.epoch >= s.since WHERE s.name IS NULL)
SELECT page, since, bool_or(is_stack) AS is_stack
FROM (SELECT o.page, coalesce(m.since, 0) AS since, o.is_stack
      FROM outside o ASOF LEFT JOIN interval_mapping m ON m.interval_id = o.interval_id AND o.epoch >= m.since
      UNION ALL FROM touched)
GROUP BY ALL;
