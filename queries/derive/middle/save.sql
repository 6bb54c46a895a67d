-- Which candidates are saves: all bytes of the register were last written by another instance, where what a restore wrote counts for
-- what the register had before the save. That depends on earlier saves only, so taking all for saves and looking again ends at
-- the truth.
-- reads: save_byte, save
-- save: store_id; origin: node, writer (last write of the bytes, restores seen through)
-- while: SELECT count(*) FROM save_changed
CREATE OR REPLACE TEMP TABLE origin AS
WITH RECURSIVE link AS (
    SELECT b.node, CASE WHEN b.restored_id IN (SELECT store_id FROM save) THEN b.next END AS next FROM save_byte b),
-- Pointers double: after a few rounds each leads to the end of its chain.
jump(node, next) USING KEY (node) AS (
    SELECT node, next FROM link WHERE next IS NOT NULL
    UNION
    SELECT j.node, r.next FROM jump j JOIN recurring.jump r ON r.node = j.next)
SELECT b.node, b.store_id, b.owner, b.word, b.low, b.high, e.writer
FROM save_byte b LEFT JOIN jump j USING (node) JOIN save_byte e ON e.node = coalesce(j.next, b.node);
CREATE OR REPLACE TEMP TABLE save_changed AS
WITH now AS (
    SELECT b.store_id FROM save_byte b JOIN origin o USING (node)
    GROUP BY b.store_id HAVING bool_and(o.writer.call_id IS DISTINCT FROM b.call_id))
(SELECT store_id, true AS is_save FROM now EXCEPT SELECT store_id, true FROM save)
UNION ALL (SELECT store_id, false FROM save EXCEPT SELECT store_id, false FROM now);
DELETE FROM save WHERE store_id IN (SELECT store_id FROM save_changed WHERE NOT is_save);
INSERT INTO save SELECT store_id FROM save_changed WHERE is_save;
