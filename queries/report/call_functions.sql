-- Functions with exclusive and inclusive steps (recursion counted once), stubs merged into their callers.
-- reads: function_profile_folded, function_symbol
-- param limit BIGINT: rows at most
-- function, calls, steps_self, share_self, steps_total, share_total (of all steps)
SELECT s.name AS function, p.calls, p.steps_self, printf('%.1f %%', 100.0 * p.steps_self / sum(p.steps_self) OVER ()) AS share_self,
       p.steps_total, printf('%.1f %%', 100.0 * p.steps_total / sum(p.steps_self) OVER ()) AS share_total
FROM function_profile_folded p JOIN function_symbol s USING (function_id)
ORDER BY p.steps_total DESC NULLS LAST, p.steps_self DESC, s.function_id
LIMIT $1;
