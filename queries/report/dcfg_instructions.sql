-- Executed instructions as a control-flow graph needs them.
-- reads: instruction
-- instruction_id, image_id (0: none), class, is_direct (its target is known), file_id, line
SELECT instruction_id, coalesce(image_id, 0) AS image_id, class, target IS NOT NULL AS is_direct, file_id, line
FROM instruction ORDER BY instruction_id;
