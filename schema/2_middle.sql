-- Middle level: call instances and write -> read communications.
CREATE TABLE function_call (
    call_id INTEGER NOT NULL, function_id INTEGER NOT NULL, instance INTEGER NOT NULL, parent_call_id INTEGER,
    tail_of_call_id INTEGER, thread_id INTEGER NOT NULL, depth INTEGER NOT NULL, kind VARCHAR NOT NULL, ending VARCHAR NOT NULL,
    call_seq BIGINT, return_seq BIGINT, call_time UBIGINT, return_time UBIGINT, call_instruction_id INTEGER,
    steps_self BIGINT, steps_total BIGINT);
-- communication is a view over this: the space as a flag and the write as a distance back from the read compress better.
CREATE TABLE communication_row (
    read_seq BIGINT NOT NULL, read_ordinal USMALLINT NOT NULL, write_back BIGINT, write_ordinal USMALLINT,
    is_register BOOLEAN NOT NULL, address UBIGINT NOT NULL, bytes UINTEGER NOT NULL);
CREATE VIEW communication AS
    SELECT read_seq - write_back AS write_seq, write_ordinal, read_seq, read_ordinal,
           CASE WHEN is_register THEN 'register' ELSE 'memory' END AS space, address, bytes
    FROM communication_row;
CREATE TABLE saved_register (
    call_id INTEGER NOT NULL, save_seq BIGINT NOT NULL, save_ordinal USMALLINT NOT NULL, register_address UINTEGER NOT NULL,
    bytes UINTEGER NOT NULL, address UBIGINT NOT NULL, restore_seq BIGINT, restores INTEGER NOT NULL, exposed_seq BIGINT);
CREATE TABLE system_call (
    seq BIGINT NOT NULL, thread_id INTEGER NOT NULL, number BIGINT, name VARCHAR, result UBIGINT, address UBIGINT, bytes UBIGINT);
