-- Mappings and unmappings of a window as writes by nobody, to the words that matter.
-- reads: word_access, held, memory_event
-- word_access: with them, whose code_id and call_id are NULL
-- each: window
INSERT INTO word_access
SELECT e.id, true, w.word, greatest(e.first::HUGEINT - w.word * 8, 0)::INTEGER, least(e.last::HUGEINT + 1 - w.word * 8, 8)::INTEGER, 8, NULL, NULL
FROM (SELECT word FROM word_access UNION SELECT word FROM held) w
JOIN (FROM memory_event WHERE kind IN ('map', 'unmap', 'fresh') AND seq >= getvariable('lo') AND seq < getvariable('hi')) e
    ON w.word BETWEEN e.first // 8 AND e.last // 8;
