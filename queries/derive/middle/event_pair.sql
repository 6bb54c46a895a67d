-- Entries with the exits that end them, and exits that end nothing. An exit ends the newest live call of its function in its thread;
-- the calls inside that one end with it.
-- reads: event_left
-- enter_event (NULL: no entry), return_event, unwound (ended by the exit of a caller)
-- while: SELECT count(*) FROM event_left WHERE NOT is_enter
-- An entry and the next exit on the same level belong together if they are of one function and so does everything between them.
CREATE OR REPLACE TEMP TABLE event_good AS
WITH levels AS (
    SELECT *, sum(CASE WHEN is_enter THEN 1 ELSE -1 END) OVER (PARTITION BY thread_id ORDER BY event_no)
              + CASE WHEN is_enter THEN 0 ELSE 1 END AS level
    FROM event_left),
partners AS (
    SELECT *, lead(event_no) OVER w AS next, lead(is_enter) OVER w AS next_enters, lead(function_id) OVER w AS next_function,
           lag(is_enter) OVER w AS last_enters, lag(function_id) OVER w AS last_function
    FROM levels WINDOW w AS (PARTITION BY thread_id, level ORDER BY event_no)),
fits AS (
    SELECT event_no, thread_id, is_enter, next,
           CASE WHEN is_enter THEN coalesce(NOT next_enters AND next_function = function_id, false)
                ELSE coalesce(last_enters AND last_function = function_id, false) END AS fit
    FROM partners),
counted AS (
    SELECT *, sum(CASE WHEN fit THEN 0 ELSE 1 END) OVER (PARTITION BY thread_id ORDER BY event_no) AS misfits FROM fits)
SELECT e.event_no AS enter_event, x.event_no AS return_event
FROM counted e JOIN counted x ON x.event_no = e.next
WHERE e.is_enter AND e.fit AND e.misfits = x.misfits;
INSERT INTO event_match SELECT enter_event, return_event, false FROM event_good;
DELETE FROM event_left WHERE event_no IN (SELECT enter_event FROM event_good) OR event_no IN (SELECT return_event FROM event_good);
-- Of what is left the first exit of each thread, before which there are entries only.
CREATE OR REPLACE TEMP TABLE event_first AS
WITH first AS (SELECT thread_id, min(event_no) AS return_event FROM event_left WHERE NOT is_enter GROUP BY ALL)
SELECT f.thread_id, f.return_event,
       (SELECT max(e.event_no) FROM event_left e
        WHERE e.thread_id = f.thread_id AND e.is_enter AND e.event_no < f.return_event AND e.function_id = x.function_id) AS enter_event
FROM first f JOIN event_left x ON x.event_no = f.return_event;
INSERT INTO event_match
SELECT e.event_no, f.return_event, e.event_no <> f.enter_event
FROM event_first f JOIN event_left e
     ON e.thread_id = f.thread_id AND e.is_enter AND e.event_no >= f.enter_event AND e.event_no < f.return_event
UNION ALL
SELECT NULL, return_event, false FROM event_first WHERE enter_event IS NULL;
DELETE FROM event_left
WHERE event_no IN (SELECT return_event FROM event_first) OR event_no IN (SELECT enter_event FROM event_match);
