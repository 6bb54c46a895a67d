-- Regions of adjacent touched pages outside of sections, each mapping's own: what kind of memory a page is.
-- reads: touched
-- page, since (of the mapping), via
CREATE TEMP TABLE touched_region AS
SELECT page, since, CASE WHEN bool_or(is_stack) OVER (PARTITION BY since, island) THEN 'stack' ELSE 'heap' END AS via
FROM (SELECT *, page::HUGEINT - row_number() OVER (PARTITION BY since ORDER BY page) AS island FROM touched);
