-- Where frames end: a return goes to the newest call that left its token, a signal ends where it interrupted. Frames that another
-- frame's end has cut off before are dead: what was matched with them is matched anew without them.
-- Jumps that go back to a live instance, past their frames, are found where the frames are known, and end them when all are matched next.
-- reads: transfer, death, gone_back, mark, exception_context, meta
-- frame_match: start_seq, end_seq, thread_id, unwound (by a jump, else by a return)
-- frame_end: each frame with its end, if it has one
-- while: SELECT (SELECT count(*) FROM cut_off) + (SELECT count(*) FROM unfounded) + (SELECT count(*) FROM found_back) + (SELECT count(*) FROM looked_at WHERE more)
DELETE FROM gone_back WHERE start_seq IN (SELECT start_seq FROM death);
CREATE OR REPLACE TEMP TABLE frame_match AS
WITH RECURSIVE
-- A return that goes back may be found to match that frame, when others are over.
taken_back AS (
    SELECT g.* FROM gone_back g JOIN transfer c ON c.seq = g.start_seq JOIN transfer r ON r.seq = g.end_seq
    WHERE r.kind <> 'return' OR r.token <> c.token OR r.slot <> c.slot),
bracket AS (
    SELECT seq, thread_id, token, slot, seq AS start_seq, CASE kind WHEN 'call' THEN 1 ELSE -1 END AS change
    FROM transfer WHERE kind IN ('call', 'return')
    UNION ALL
    SELECT d.end_seq, t.thread_id, t.token, t.slot, NULL, -1
    FROM (FROM death UNION ALL FROM taken_back) d JOIN transfer t ON t.seq = d.start_seq WHERE t.kind = 'call'),
summed AS (
    -- The return that ends a frame comes after the deaths that it causes, if they have the same token.
    SELECT *, sum(change) OVER (PARTITION BY thread_id, token, slot ORDER BY seq, start_seq NULLS FIRST) AS total
    FROM bracket),
leveled AS (
    -- A return to which no call is left takes nothing away.
    SELECT *, total - least(0, min(total) OVER (PARTITION BY thread_id, token, slot ORDER BY seq, start_seq NULLS FIRST)) AS level
    FROM summed),
slotted AS (
    SELECT *, lag(level, 1, 0) OVER (PARTITION BY thread_id, token, slot ORDER BY seq, start_seq NULLS FIRST) AS level_before
    FROM leveled),
-- Where no call with its slot is left, one that was made when the slot was not known will do.
unslotted AS (
    SELECT *, sum(change) OVER (PARTITION BY thread_id, token ORDER BY seq, start_seq NULLS FIRST) AS sum_unslotted
    FROM (SELECT seq, thread_id, token, start_seq, change FROM slotted
          WHERE slot IS NULL OR (change = -1 AND start_seq IS NOT NULL AND level_before <= 0))),
unslotted_level AS (
    SELECT *, sum_unslotted - least(0, min(sum_unslotted) OVER (PARTITION BY thread_id, token ORDER BY seq, start_seq NULLS FIRST)) AS level
    FROM unslotted),
before AS (
    SELECT seq, thread_id, token, slot::HUGEINT AS slot, start_seq, change, level, level_before FROM slotted
    WHERE slot IS NOT NULL AND NOT (change = -1 AND start_seq IS NOT NULL AND level_before <= 0)
    UNION ALL
    SELECT seq, thread_id, token, -1, start_seq, change, level,
           lag(level, 1, 0) OVER (PARTITION BY thread_id, token ORDER BY seq, start_seq NULLS FIRST)
    FROM unslotted_level),
returned AS (
    SELECT c.seq AS start_seq, r.seq AS end_seq, r.thread_id
    FROM (SELECT * FROM before WHERE change = -1 AND start_seq IS NOT NULL AND level_before > 0) r
    ASOF JOIN (SELECT * FROM before WHERE change = 1) c
        ON c.thread_id = r.thread_id AND c.token = r.token AND c.slot = r.slot AND c.level = r.level_before AND r.seq > c.seq),
-- Signals, one after the other: each ends the newest open one that was interrupted there, or begins. A return that goes to no frame
-- may end one, too.
interrupted AS (SELECT DISTINCT thread_id, unnest(resumes) AS address FROM transfer WHERE kind = 'other'),
astray AS (
    SELECT t.seq
    FROM before b JOIN transfer t ON t.seq = b.seq SEMI JOIN interrupted i ON i.thread_id = t.thread_id AND i.address = t.address
    WHERE b.change = -1 AND b.start_seq IS NOT NULL AND b.level_before <= 0 AND t.kind = 'return'
      AND t.instruction_id NOT IN (SELECT instruction_id FROM code WHERE class = 'jump')),
other AS (
    SELECT t.thread_id, t.seq, t.address, t.kind = 'return' AS returns, {seq: t.seq, dead: d.end_seq, resumes: t.resumes} AS frame,
           row_number() OVER (PARTITION BY t.thread_id ORDER BY t.seq) AS number
    FROM transfer t LEFT JOIN (FROM death UNION ALL FROM gone_back) d ON d.start_seq = t.seq WHERE t.kind = 'other' OR t.seq IN (FROM astray)),
signal AS (
    SELECT DISTINCT thread_id, 0::BIGINT AS number, NULL::BIGINT AS seq, NULL::BIGINT AS ends,
           []::STRUCT(seq BIGINT, dead BIGINT, resumes UBIGINT[])[] AS open
    FROM other
    UNION ALL
    SELECT thread_id, number, seq, live[found].seq, CASE WHEN found > 0 THEN live[:found - 1] WHEN returns THEN live ELSE list_append(live, frame) END
    FROM (SELECT *, list_max([i FOR s, i IN live IF list_contains(s.resumes, address)]) AS found
          FROM (SELECT o.thread_id, o.number, o.seq, o.address, o.returns, o.frame,
                       [s FOR s IN g.open IF s.dead IS NULL OR s.dead > o.seq] AS live
                FROM signal g JOIN other o ON o.thread_id = g.thread_id AND o.number = g.number + 1)))
SELECT start_seq, end_seq, thread_id, false AS unwound FROM returned
UNION ALL
SELECT ends, seq, thread_id, false FROM signal WHERE ends IS NOT NULL
UNION ALL
SELECT g.start_seq, g.end_seq, t.thread_id, true FROM gone_back g JOIN transfer t ON t.seq = g.start_seq WHERE g.start_seq NOT IN (SELECT start_seq FROM returned)
UNION ALL
-- Exceptions of which a step ran.
SELECT t.seq, m.seq, t.thread_id, false
FROM (FROM transfer WHERE kind = 'exception' AND seq NOT IN (SELECT start_seq FROM death)) t
JOIN exception_context c ON c.context_id = t.token
ASOF JOIN mark m ON m.thread_id = c.thread_id AND c.end_seq < m.seq;
-- A death whose cause is no match any more was none. In its thread all from there on are found anew and one after the other, where each
-- is final, as all before it are.
CREATE OR REPLACE TEMP TABLE unfounded AS
SELECT t.thread_id, min(d.end_seq) AS end_seq
FROM (FROM death d ANTI JOIN frame_match m ON m.end_seq = d.end_seq AND m.start_seq < d.start_seq) d JOIN transfer t ON t.seq = d.start_seq
GROUP BY ALL;
DELETE FROM death d USING transfer t, unfounded u WHERE t.seq = d.start_seq AND u.thread_id = t.thread_id AND d.end_seq >= u.end_seq;
INSERT INTO one_by_one SELECT thread_id FROM unfounded;
-- Matches are brackets; where they do not nest, one frame ended while another one above it was still to return.
CREATE OR REPLACE TEMP TABLE cut_off AS
WITH bracket AS (
    SELECT thread_id, start_seq AS seq, start_seq, 1 AS change FROM frame_match
    UNION ALL SELECT thread_id, end_seq, start_seq, -1 FROM frame_match),
leveled AS (SELECT *, sum(change) OVER (PARTITION BY thread_id ORDER BY seq) AS level FROM bracket),
-- Where all nest, a frame ends at the level at which it began: to look for pairs that cross is for the others.
uneven AS (
    SELECT thread_id, start_seq
    FROM leveled GROUP BY ALL HAVING max(level) FILTER (change = 1) - 1 <> max(level) FILTER (change = -1)),
crossed AS (
    SELECT u.thread_id, u.start_seq, m.end_seq, m.start_seq AS by_seq
    FROM (FROM frame_match SEMI JOIN uneven USING (thread_id)) u
    JOIN frame_match m ON m.thread_id = u.thread_id AND m.start_seq < u.start_seq AND m.end_seq > u.start_seq AND m.end_seq < u.end_seq)
SELECT start_seq, min(end_seq) AS end_seq FROM crossed
WHERE by_seq NOT IN (SELECT start_seq FROM crossed) AND thread_id NOT IN (SELECT thread_id FROM one_by_one) GROUP BY start_seq
UNION ALL
SELECT start_seq, end_seq FROM crossed
WHERE thread_id IN (SELECT thread_id FROM one_by_one) AND thread_id NOT IN (SELECT thread_id FROM unfounded)
QUALIFY end_seq = min(end_seq) OVER (PARTITION BY thread_id);
DELETE FROM death WHERE start_seq IN (SELECT start_seq FROM cut_off);
INSERT INTO death FROM cut_off;
CREATE OR REPLACE TEMP TABLE frame_end AS
WITH start AS (
    SELECT t.seq AS start_seq, t.thread_id, t.kind, t.from_seq, t.instruction_id, t.slot, m.end_seq, m.unwound, t.function_id, t.from_function
    FROM transfer t LEFT JOIN frame_match m ON m.start_seq = t.seq
    WHERE t.kind IN ('root', 'call', 'exception') OR (t.kind = 'other' AND t.seq NOT IN (SELECT end_seq FROM frame_match))),
bracket AS (
    SELECT thread_id, start_seq AS seq, start_seq, end_seq, 1 AS change FROM frame_match
    UNION ALL SELECT thread_id, end_seq, NULL, NULL, -1 FROM frame_match),
leveled AS (SELECT *, sum(change) OVER (PARTITION BY thread_id ORDER BY seq) AS level FROM bracket),
-- What no return matched ends with the innermost frame around it that one did.
lost AS (
    SELECT s.start_seq, s.thread_id, coalesce(l.level, 0) AS level
    FROM (FROM start WHERE end_seq IS NULL) s
    ASOF LEFT JOIN leveled l ON l.thread_id = s.thread_id AND s.start_seq >= l.seq),
cut AS (
    SELECT u.start_seq, l.end_seq
    FROM lost u ASOF JOIN (FROM leveled WHERE change = 1) l ON l.thread_id = u.thread_id AND l.level = u.level AND u.start_seq >= l.seq
    WHERE u.level > 0)
SELECT s.* EXCLUDE (end_seq, unwound), coalesce(s.end_seq, c.end_seq) AS end_seq,
       CASE WHEN s.unwound THEN 'unwound' WHEN s.end_seq IS NOT NULL THEN 'return' WHEN c.end_seq IS NOT NULL THEN 'unwound' ELSE 'open' END AS ending
FROM start s LEFT JOIN cut c USING (start_seq);
-- Where each of the jumps that may go back does: to the newest instance of its function, of which the frame and that of what it called
-- lie on both sides of the stack pointer. What frames an unwound one leaves open is known when it is: so of many jumps the first come first.
CREATE OR REPLACE TEMP TABLE found_back AS
WITH jump AS (
    SELECT t.seq, t.thread_id, t.function_id, t.slot, (SELECT value FROM meta WHERE key = 'isa') IN ('x86', 'x86_64') AS stacks
    FROM (SELECT *, row_number() OVER (PARTITION BY thread_id ORDER BY seq) AS number FROM transfer WHERE goes_back) t, looked_at l
    WHERE t.number <= l.jumps AND (t.kind = 'jump' OR t.seq NOT IN (SELECT end_seq FROM frame_match WHERE NOT unwound))),
live AS (
    SELECT j.seq, j.function_id, j.slot, j.stacks, f.start_seq, f.from_function, f.kind,
           CASE f.kind WHEN 'call' THEN f.slot END AS above, lag(above) OVER w AS below,
           coalesce(bool_or(f.kind = 'exception') OVER (PARTITION BY j.seq ORDER BY f.start_seq ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), false) AS interrupts
    FROM jump j JOIN (SELECT *, coalesce(end_seq, 9223372036854775807) AS until FROM frame_end) f
        ON f.thread_id = j.thread_id AND f.start_seq < j.seq AND f.until >= j.seq
    WINDOW w AS (PARTITION BY j.seq ORDER BY f.start_seq)),
-- A frame ends once: who comes later finds another one, when that is known.
found AS (
    SELECT start_seq, min(end_seq) AS end_seq
    FROM (SELECT max(start_seq) AS start_seq, seq AS end_seq
          FROM live
          WHERE from_function = function_id AND kind <> 'root' AND NOT interrupts
            AND (slot IS NULL OR ((above IS NULL OR above <= slot) AND (below IS NULL OR slot < below OR (slot = below AND NOT stacks))))
          GROUP BY seq)
    GROUP BY start_seq)
SELECT coalesce(f.start_seq, g.start_seq) AS start_seq, coalesce(f.end_seq, g.end_seq) AS end_seq, f.end_seq IS NOT NULL AS is_new
FROM found f FULL JOIN gone_back g ON g.start_seq = f.start_seq AND g.end_seq = f.end_seq
WHERE f.end_seq IS NULL OR g.end_seq IS NULL;
DELETE FROM gone_back g USING found_back f WHERE NOT f.is_new AND g.start_seq = f.start_seq AND g.end_seq = f.end_seq;
INSERT INTO gone_back SELECT start_seq, end_seq FROM found_back WHERE is_new;
UPDATE looked_at SET more = NOT EXISTS (FROM cut_off) AND NOT EXISTS (FROM unfounded) AND NOT EXISTS (FROM found_back)
    AND EXISTS (SELECT 1 FROM transfer WHERE goes_back GROUP BY thread_id HAVING count(*) > jumps);
UPDATE looked_at SET jumps = jumps + 1000 WHERE more;
