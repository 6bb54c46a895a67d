-- Functions with the most steps of their own.
-- reads: function_symbol, function_profile
-- param top INTEGER: rows at most
-- id, function, kind, calls, steps_self, share, steps_total (inclusive), written_bytes, dead_bytes (overwritten or left unread)
SELECT s.function_id AS id, s.name AS function, s.kind, p.calls, p.steps_self,
       printf('%.1f %%', 100.0 * p.steps_self / sum(p.steps_self) OVER ()) AS share, p.steps_total, p.written_bytes, p.dead_bytes
FROM function_profile p JOIN function_symbol s USING (function_id)
ORDER BY p.steps_self DESC NULLS LAST, s.function_id
LIMIT ?;
