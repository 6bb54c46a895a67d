-- Reuse distances, where `addfg prepare` has stored them.
-- reads: memory_reuse
-- class (NULL: the first access to a line), accesses
SELECT class, accesses FROM memory_reuse;
