-- Dependences between iterations of executed loops, where `addfg prepare` has stored them.
-- reads: loop_dependence
-- loop_id, conflict, space, storage, least, most, count, bytes
SELECT loop_id, conflict, space, storage, least, most, count, bytes FROM loop_dependence;
