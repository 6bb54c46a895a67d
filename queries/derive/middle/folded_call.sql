-- Instances of stub functions and the call instance that each is merged into: the nearest caller that is no stub, itself where there is
-- none.
-- reads: function_call, function_symbol
-- call_id, function_id, into_call_id, into_function_id, steps_self (of the stub instance, steps)
WITH RECURSIVE stub AS MATERIALIZED (
    SELECT c.call_id, c.function_id, c.parent_call_id, c.steps_self
    FROM function_call c JOIN function_symbol s ON s.function_id = c.function_id WHERE s.kind = 'stub'),
above AS (
    SELECT call_id, call_id AS target, parent_call_id AS next FROM stub
    UNION ALL
    SELECT a.call_id, a.next, s.parent_call_id
    FROM above a LEFT JOIN stub s ON s.call_id = a.next WHERE a.next < a.target),
-- Callers have smaller ids: the smallest is the nearest that is no stub, or the outermost stub where that has no caller.
nearest AS MATERIALIZED (SELECT call_id, min(target) AS target FROM above GROUP BY ALL)
SELECT n.call_id, s.function_id, n.target AS into_call_id, t.function_id AS into_function_id, s.steps_self
FROM function_call t JOIN nearest n ON n.target = t.call_id JOIN stub s ON s.call_id = n.call_id
ORDER BY n.call_id;
