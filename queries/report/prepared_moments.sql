-- Memory over the parts of the run, where `addfg prepare` has stored it.
-- reads: memory_moment
-- first_seq, reads, writes, touched, footprint
SELECT first_seq, reads, writes, touched, footprint FROM memory_moment ORDER BY moment;
