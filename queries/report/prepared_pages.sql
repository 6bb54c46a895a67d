-- Accesses by part of the run and page, where `addfg prepare` has stored it.
-- reads: memory_page
-- moment, page (address / 4096), reads, writes
SELECT moment, page, reads, writes FROM memory_page;
