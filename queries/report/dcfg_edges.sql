-- Edges of a recorded control-flow graph with how often each thread took them, in order.
-- reads: cfg_edge, cfg_edge_thread
-- edge (its number), source, target (numbers of blocks), type, thread_id, count (NULL: no thread took it)
SELECT e.cfg_edge_id AS edge, e.source_block_id AS source, e.target_block_id AS target, coalesce(e.type, '') AS type, t.thread_id, t.count
FROM cfg_edge e LEFT JOIN cfg_edge_thread t ON t.cfg_edge_id = e.cfg_edge_id ORDER BY e.cfg_edge_id, t.thread_id;
