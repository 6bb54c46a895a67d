-- Code that ran and is not understood: no disassembly, no known effect on control, or outside of every symbol.
-- theme: code
-- needs: summary
-- param rows count = 20: rows at most, 0 for all
-- none: all code that ran is decoded and belongs to a function
SELECT printf('0x%x', i.address) AS address, hex(i.opcode) AS opcode, i.text, i.class, i.executions AS steps, f.name AS function,
       coalesce(m.path, '(no image)') AS image
FROM instruction i JOIN function_symbol f USING (function_id) LEFT JOIN image m ON m.image_id = i.image_id
WHERE i.text IS NULL OR i.class = 'unknown' OR f.kind = 'unknown' ORDER BY i.executions DESC, i.address LIMIT $1;
