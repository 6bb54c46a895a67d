-- Which lines of 64 bytes each window of the run writes, where `addfg prepare` has stored it.
-- reads: written_line
-- first_seq, line (address / 64; the largest number: any)
SELECT first_seq, line FROM written_line;
