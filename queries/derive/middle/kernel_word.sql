-- What the kernel accesses in a window, by words, beside the accesses of steps.
-- reads: kernel_access
-- word_access: with the kernel's
-- each: window
INSERT INTO word_access
SELECT id, is_write, (address // 8 + k) % 2305843009213693952, CASE WHEN k = 0 THEN low ELSE 0 END, least(high - 8 * k, 8), size, code_id, call_id
FROM (SELECT *, (address % 8)::INTEGER AS low, (address % 8)::INTEGER + bytes::INTEGER AS high, bytes::INTEGER AS size
      FROM kernel_access WHERE seq >= getvariable('lo') AND seq < getvariable('hi')), unnest(range((high + 7) // 8)) AS t(k);
