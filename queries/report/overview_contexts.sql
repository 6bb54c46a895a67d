-- Data between calling contexts as the overview weighs it.
-- reads: stack_edge
-- writer, reader (stack_id; negative: a function in contexts that are not kept, or a pseudo-function), via, bytes (each written byte once
-- where that is known)
SELECT coalesce(writer_stack_id, -writer_function_id) AS writer, coalesce(reader_stack_id, -reader_function_id) AS reader, via,
       coalesce(unique_bytes, bytes) AS bytes
FROM stack_edge;
