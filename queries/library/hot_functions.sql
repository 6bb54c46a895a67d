-- Functions by the steps in them, with what they call (steps_total) and without (steps_self).
-- theme: cost
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: the trace has no calls
SELECT function, calls, steps_self, steps_total,
       round(100.0 * steps_self / sum(steps_self) OVER (), 1) AS percent_self, file
FROM flat_profile ORDER BY steps_self DESC NULLS LAST, function LIMIT $1;
