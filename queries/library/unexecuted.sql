-- Functions of the program that never ran, the largest first.
-- theme: code
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: every function ran, or no program was given
SELECT f.name AS function, f.size AS bytes, printf('0x%x', f.address) AS address, s.path AS file, m.path AS image
FROM function_symbol f LEFT JOIN source_file s USING (file_id) LEFT JOIN image m ON m.image_id = f.image_id
WHERE f.kind = 'function' AND f.function_id NOT IN (SELECT function_id FROM function_profile)
ORDER BY f.size DESC NULLS LAST, f.address LIMIT $1;
