-- Steps of instances, from the control flow, and their sums over descendants: numbering by depth needs no recursion.
-- reads: control_flow, function_call
-- call_id, steps_self, steps_total
CREATE TEMP TABLE derived_steps AS
WITH self AS (SELECT call_id, sum(end_seq - start_seq + 1)::BIGINT AS steps_self FROM control_flow GROUP BY call_id),
RECURSIVE_up AS (
    WITH RECURSIVE up AS (
        SELECT c.call_id AS call_id, c.call_id AS ancestor, c.parent_call_id AS next, s.steps_self
        FROM function_call c JOIN self s USING (call_id)
        UNION ALL
        SELECT u.call_id, p.call_id, p.parent_call_id, u.steps_self FROM up u JOIN function_call p ON p.call_id = u.next)
    SELECT ancestor AS call_id, sum(steps_self)::BIGINT AS steps_total FROM up GROUP BY ancestor)
SELECT s.call_id, s.steps_self, u.steps_total FROM self s JOIN RECURSIVE_up u USING (call_id);
