-- Call instances of traces that have entries and exits.
-- reads: event_match, event_left, call_event_row, trace_event
-- as function_call, with call_event, return_event, ticks, ticks_self, nested as in call_record and call_stack
CREATE OR REPLACE TEMP TABLE event_live AS
-- How many calls are live behind each entry or exit.
SELECT c.event_no, c.thread_id, c.time, c.kind, c.function_id, coalesce(m.ends, 0) AS ends,
       sum(CASE WHEN c.kind = 0 THEN 1 ELSE -coalesce(m.ends, 0) END) OVER (PARTITION BY c.thread_id ORDER BY c.event_no) AS live
FROM call_event_row c
LEFT JOIN (SELECT return_event, count(enter_event) AS ends FROM event_match GROUP BY ALL) m ON m.return_event = c.event_no;
CREATE OR REPLACE TEMP TABLE event_span AS
WITH span AS (
    SELECT enter_event, return_event, unwound FROM event_match UNION ALL SELECT event_no, NULL, false FROM event_left),
nested AS (
    SELECT event_no, sum(change) OVER (PARTITION BY thread_id, function_id ORDER BY event_no) > 1 AS nested
    FROM (SELECT e.thread_id, e.function_id, s.enter_event AS event_no, 1 AS change
          FROM span s JOIN call_event_row e ON e.event_no = s.enter_event
          UNION ALL
          SELECT e.thread_id, e.function_id, s.return_event, -1
          FROM span s JOIN call_event_row e ON e.event_no = s.enter_event WHERE s.return_event IS NOT NULL)
    QUALIFY change = 1)
SELECT row_number() OVER (ORDER BY coalesce(s.enter_event, s.return_event)) AS call_id, s.enter_event, s.return_event, s.unwound,
       coalesce(e.thread_id, x.thread_id) AS thread_id, coalesce(e.function_id, x.function_id) AS function_id, e.time AS call_time,
       x.time AS return_time, x.kind AS return_kind, e.live - 1 AS depth, n.nested
FROM span s LEFT JOIN event_live e ON e.event_no = s.enter_event LEFT JOIN event_live x ON x.event_no = s.return_event
LEFT JOIN nested n ON n.event_no = s.enter_event;
-- The innermost call behind each event: the newest on its level.
CREATE OR REPLACE TEMP TABLE event_top AS
WITH every AS (
    SELECT event_no, thread_id, time, live, kind = 0 OR ends > 0 AS changes FROM event_live
    UNION ALL
    SELECT event_no, thread_id, time, NULL, false FROM trace_event),
known AS (
    SELECT event_no, thread_id, time, changes,
           coalesce(last_value(live IGNORE NULLS) OVER (PARTITION BY thread_id ORDER BY event_no), 0) AS live
    FROM every)
SELECT k.event_no, k.thread_id, k.time, k.changes, k.live, s.call_id
FROM known k ASOF LEFT JOIN (FROM event_span WHERE enter_event IS NOT NULL) s
     ON s.thread_id = k.thread_id AND s.depth = k.live - 1 AND s.enter_event <= k.event_no;
CREATE OR REPLACE TEMP TABLE derived_event_call AS
WITH own AS (
    SELECT call_id, sum(ticks) AS ticks_self
    FROM (SELECT call_id, CASE WHEN lead(time) OVER w > time THEN lead(time) OVER w - time ELSE 0 END AS ticks
          FROM event_top WINDOW w AS (PARTITION BY thread_id ORDER BY event_no))
    WHERE call_id IS NOT NULL GROUP BY ALL),
last AS (SELECT event_no, lag(event_no) OVER (PARTITION BY thread_id ORDER BY event_no) AS last_event FROM call_event_row),
parent AS (
    SELECT s.call_id, p.call_id AS parent_call_id
    FROM (FROM event_span WHERE depth > 0) s ASOF JOIN (FROM event_span WHERE enter_event IS NOT NULL) p
         ON p.thread_id = s.thread_id AND p.depth = s.depth - 1 AND p.enter_event < s.enter_event)
SELECT s.call_id, s.function_id, row_number() OVER (PARTITION BY s.function_id ORDER BY s.call_id) AS instance, p.parent_call_id,
       t.call_id AS tail_of_call_id, s.thread_id, coalesce(s.depth, 0) AS depth,
       CASE WHEN s.enter_event IS NULL THEN 'gap' WHEN t.call_id IS NOT NULL THEN 'tail' WHEN s.depth > 0 THEN 'call'
            ELSE 'root' END AS kind,
       CASE WHEN s.return_event IS NULL THEN 'open' WHEN s.unwound THEN 'unwound' WHEN s.return_kind = 2 THEN 'tail'
            ELSE 'return' END AS ending,
       s.call_time, s.return_time, s.enter_event AS call_event, s.return_event,
       CASE WHEN s.return_time >= s.call_time THEN s.return_time - s.call_time END AS ticks,
       CASE WHEN s.enter_event IS NOT NULL THEN coalesce(o.ticks_self, 0) END AS ticks_self, s.nested
FROM event_span s LEFT JOIN own o ON o.call_id = s.call_id LEFT JOIN parent p ON p.call_id = s.call_id
LEFT JOIN last l ON l.event_no = s.enter_event
LEFT JOIN event_span t ON t.return_event = l.last_event AND NOT t.unwound AND t.return_kind = 2 AND t.enter_event IS NOT NULL;
