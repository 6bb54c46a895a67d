-- Call instances: frames of the call stack, cut where control moves to another function within one (tails).
-- reads: transfer, mark, last_part, frame_end, function_symbol
-- as the table function_call; ends_before is the step at which the instance is gone, NULL: never; frame_top is its frame's end
CREATE TEMP TABLE frame AS
WITH change AS (
    SELECT thread_id, start_seq AS seq, 1 AS change FROM frame_end
    UNION ALL SELECT thread_id, end_seq, -1 FROM frame_end WHERE end_seq IS NOT NULL),
deep AS (
    SELECT thread_id, seq, sum(sum(change)) OVER (PARTITION BY thread_id ORDER BY seq) - 1 AS depth FROM change GROUP BY thread_id, seq)
SELECT e.*, d.depth::INTEGER AS depth, row_number() OVER (ORDER BY e.start_seq) AS frame_id
FROM frame_end e JOIN deep d ON d.thread_id = e.thread_id AND d.seq = e.start_seq;
-- The frame on top from each step on at which one begins or ends.
CREATE TEMP TABLE top_frame AS
WITH change AS (
    SELECT thread_id, start_seq AS seq, 1 AS change FROM frame
    UNION ALL SELECT thread_id, end_seq, -1 FROM frame WHERE end_seq IS NOT NULL),
deep AS (
    SELECT thread_id, seq, (sum(sum(change)) OVER (PARTITION BY thread_id ORDER BY seq) - 1)::INTEGER AS depth
    FROM change GROUP BY thread_id, seq)
SELECT d.thread_id, d.seq, f.frame_id
FROM deep d ASOF JOIN frame f ON f.thread_id = d.thread_id AND f.depth = d.depth AND d.seq >= f.start_seq;
-- The frame and function from each step on at which one of them changes.
CREATE TEMP TABLE framed AS
SELECT * EXCLUDE (same), lag(function_id) OVER (PARTITION BY frame_id ORDER BY seq) IS DISTINCT FROM function_id AS begins
FROM (SELECT m.seq, m.thread_id, t.frame_id, m.function_id, m.from_seq, m.steps_before,
             coalesce(lag(t.frame_id) OVER w = t.frame_id AND lag(m.function_id) OVER w = m.function_id, false) AS same
      FROM mark m ASOF JOIN top_frame t ON t.thread_id = m.thread_id AND m.seq >= t.seq
      WINDOW w AS (PARTITION BY m.thread_id ORDER BY m.seq))
WHERE NOT same;
CREATE TEMP TABLE part AS
SELECT seq AS call_seq, thread_id, frame_id, function_id, from_seq, call_id, lag(call_id) OVER f AS tail_of, lead(seq) OVER f AS next_seq,
       lead(from_seq) OVER f AS next_from
FROM (SELECT *, row_number() OVER (ORDER BY seq) AS call_id FROM framed WHERE begins) WINDOW f AS (PARTITION BY frame_id ORDER BY seq);
-- The instance of the steps of a thread from one on.
CREATE TEMP TABLE step_call AS
SELECT s.seq, s.thread_id, s.function_id, p.call_id::INTEGER AS call_id, s.from_seq, s.steps_before
FROM framed s ASOF JOIN part p ON p.frame_id = s.frame_id AND s.seq >= p.call_seq;
-- What each frame stands on, and its instance then: that of the step before would be an exception's handler where one has just ended.
CREATE TEMP TABLE standing_on AS
WITH below AS (
    SELECT f.frame_id, f.start_seq, g.frame_id AS below_id
    FROM (SELECT *, depth - 1 AS below_depth FROM frame) f
    ASOF JOIN frame g ON g.thread_id = f.thread_id AND g.depth = f.below_depth AND f.start_seq > g.start_seq)
SELECT b.frame_id, p.call_id FROM below b ASOF JOIN part p ON p.frame_id = b.below_id AND b.start_seq > p.call_seq;
CREATE TEMP TABLE derived_call AS
SELECT p.call_id::INTEGER AS call_id, p.function_id,
       (row_number() OVER (PARTITION BY p.function_id ORDER BY p.call_seq))::INTEGER AS instance,
       CASE WHEN f.from_seq IS NOT NULL THEN c.call_id END::INTEGER AS parent_call_id, p.tail_of::INTEGER AS tail_of_call_id, p.thread_id, f.depth,
       CASE WHEN p.tail_of IS NOT NULL THEN 'tail' WHEN f.kind IN ('other', 'exception') THEN 'signal'
            WHEN f.kind = 'call' AND s.kind = 'stub' THEN 'stub' ELSE f.kind END AS kind,
       CASE WHEN p.next_seq IS NOT NULL THEN 'tail' ELSE f.ending END AS ending,
       p.call_seq, coalesce(p.next_from, e.from_seq, l.last_seq) AS return_seq,
       CASE WHEN p.tail_of IS NULL AND f.kind = 'call' THEN f.instruction_id END AS call_instruction_id,
       coalesce(p.next_seq, f.end_seq) AS ends_before, f.slot AS frame_top
FROM part p JOIN frame f USING (frame_id) JOIN function_symbol s ON s.function_id = p.function_id
JOIN last_part l ON l.thread_id = p.thread_id
LEFT JOIN standing_on c ON c.frame_id = p.frame_id
LEFT JOIN transfer e ON e.seq = f.end_seq;
