-- The calls of a function, those that read the most from others first.
-- theme: calls
-- needs: instance
-- param function function: name, file:name or @address
-- param rows count = 20: rows at most, 0 for all
-- none: the function was not called
SELECT f.name || '#' || c.instance AS call, c.bytes_in, c.steps_self, c.steps_total, coalesce(pf.name || '#' || p.instance, '(start)') AS caller,
       c.depth, c.call_seq AS first_step, c.return_seq AS last_step, c.ending
FROM function_call c JOIN function_symbol f USING (function_id)
LEFT JOIN function_call p ON p.call_id = c.parent_call_id LEFT JOIN function_symbol pf ON pf.function_id = p.function_id
WHERE c.function_id = $1 ORDER BY c.bytes_in DESC NULLS LAST, c.call_id LIMIT $2;
