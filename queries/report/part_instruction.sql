-- Each instruction of the functions to expand is a part.
-- reads: instruction
-- needs: TEMP TABLE expanded (function_id)
-- instruction_id, node
SELECT instruction_id, instruction_id AS node FROM instruction WHERE function_id IN (SELECT function_id FROM expanded);
