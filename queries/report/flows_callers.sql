-- Calls that allocations go back to and that are not there.
-- reads: function_call
-- needs: TEMP TABLE allocated (seq: the last step before each allocation)
-- call_id
WITH RECURSIVE entered AS (
    SELECT call_id, parent_call_id, tail_of_call_id FROM function_call WHERE return_seq IN (SELECT seq FROM allocated)
    UNION
    SELECT c.call_id, c.parent_call_id, c.tail_of_call_id FROM entered e JOIN function_call c ON c.call_id = e.tail_of_call_id)
SELECT DISTINCT call_id
FROM (SELECT parent_call_id AS call_id FROM entered UNION SELECT tail_of_call_id FROM entered) wanted
WHERE call_id IS NOT NULL AND call_id NOT IN (SELECT call_id FROM function_call);
