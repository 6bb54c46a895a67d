-- Where frames end: a return goes to the newest call that left its token, a signal ends where it interrupted. Frames that another
-- frame's end has cut off before are dead: what was matched with them is matched anew without them.
-- reads: transfer, death, mark, exception_context
-- start_seq, end_seq, thread_id
-- while: SELECT (SELECT count(*) FROM cut_off) + (SELECT count(*) FROM unfounded)
CREATE OR REPLACE TEMP TABLE frame_match AS
WITH RECURSIVE bracket AS (
    SELECT seq, thread_id, token, slot, seq AS start_seq, CASE kind WHEN 'call' THEN 1 ELSE -1 END AS change
    FROM transfer WHERE kind IN ('call', 'return')
    UNION ALL
    SELECT d.end_seq, t.thread_id, t.token, t.slot, NULL, -1
    FROM death d JOIN transfer t ON t.seq = d.start_seq WHERE t.kind = 'call'),
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
    FROM transfer t LEFT JOIN death d ON d.start_seq = t.seq WHERE t.kind = 'other' OR t.seq IN (FROM astray)),
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
SELECT start_seq, end_seq, thread_id FROM returned
UNION ALL
SELECT ends, seq, thread_id FROM signal WHERE ends IS NOT NULL
UNION ALL
-- Exceptions of which a step ran.
SELECT t.seq, m.seq, t.thread_id
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
