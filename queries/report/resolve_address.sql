-- Functions whose range holds an address.
-- reads: function_symbol, function_profile
-- param address UBIGINT: run-time address
-- function_id, name, ran, exact (true)
SELECT s.function_id, s.name, p.function_id IS NOT NULL AS ran, true AS exact
FROM (SELECT CAST(? AS UBIGINT) AS address) t, function_symbol s
LEFT JOIN function_profile p ON p.function_id = s.function_id
WHERE s.address <= t.address AND (t.address - s.address < s.size OR t.address = s.address)
ORDER BY 1, 2, 3;
