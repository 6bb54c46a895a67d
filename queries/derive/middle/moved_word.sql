-- Memory that is moved behind a window, which ends there: its bytes keep their writers, not their readers.
-- reads: memory_event, held, seen
-- held, seen: with words where they lie from then on
-- each: window
CREATE OR REPLACE TEMP TABLE move AS
SELECT first // 8 AS first, last // 8 AS last, from_address // 8 AS from_first, last // 8 - first // 8 AS more
FROM memory_event WHERE kind = 'move_to' AND seq >= getvariable('lo') AND seq < getvariable('hi');
DELETE FROM held USING move m WHERE held.word BETWEEN m.first AND m.last;
DELETE FROM seen USING move m WHERE seen.thread_id = 0
    AND (seen.place BETWEEN m.first AND m.last OR seen.place BETWEEN m.from_first AND m.from_first + m.more);
UPDATE held SET word = held.word - m.from_first + m.first FROM move m WHERE held.word BETWEEN m.from_first AND m.from_first + m.more;
