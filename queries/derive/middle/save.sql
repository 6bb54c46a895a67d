-- Which candidates are saves: all bytes of the register were last written by another instance, where what a restore wrote counts for
-- what the register had before the save. That depends on earlier saves only, so taking all for saves and looking again ends at
-- the truth.
-- reads: save_cell, save
-- save: store_id, those of before among them; origin: node, write_id, writer_call_id, writer_code (last write of the cell, restores seen through)
-- each: window
-- while: SELECT count(*) FROM save_changed
CREATE OR REPLACE TEMP TABLE origin AS
WITH RECURSIVE link AS (
    SELECT c.node, CASE WHEN c.restored_id IN (SELECT store_id FROM save) THEN c.next END AS next FROM save_cell c),
-- Pointers double: after a few rounds each leads to the end of its chain.
jump(node, next) USING KEY (node) AS (
    SELECT node, next FROM link WHERE next IS NOT NULL
    UNION
    SELECT j.node, r.next FROM jump j JOIN recurring.jump r ON r.node = j.next)
SELECT c.node, c.store_id, c.cell, e.write_id, e.writer_call_id, e.writer_code
FROM save_cell c LEFT JOIN jump j USING (node) JOIN save_cell e ON e.node = coalesce(j.next, c.node);
CREATE OR REPLACE TEMP TABLE save_changed AS
WITH now AS (
    SELECT c.store_id FROM save_cell c JOIN origin o USING (node)
    GROUP BY c.store_id HAVING bool_and(o.writer_call_id IS DISTINCT FROM c.call_id))
(SELECT store_id, true AS is_save FROM now EXCEPT SELECT store_id, true FROM save)
UNION ALL (SELECT store_id, false FROM save EXCEPT SELECT store_id, false FROM now);
DELETE FROM save WHERE store_id IN (SELECT store_id FROM save_changed WHERE NOT is_save);
INSERT INTO save SELECT store_id FROM save_changed WHERE is_save;
