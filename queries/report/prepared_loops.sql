-- Executed loops where `addfg prepare` has stored them, those with the most steps first.
-- reads: executed_loop
-- function_id, place, depth, irreducible, entries, iterations, steps, carried_memory, carried_register, carried_edges, pattern, operations,
-- distance, stages, recurrences
SELECT function_id, place, depth, irreducible, entries, iterations, steps, carried_memory, carried_register, carried_edges, pattern, operations,
       distance, stages, recurrences
FROM executed_loop ORDER BY loop_id;
