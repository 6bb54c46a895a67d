-- Dependences between instances of instructions, and the values that they computed, as the WET format has them. An instance has a
-- number instead of a place in time.
CREATE TABLE dependence (
    kind VARCHAR, port INTEGER, write_instruction_id INTEGER, write_instance BIGINT NOT NULL, read_instruction_id INTEGER NOT NULL,
    read_instance BIGINT NOT NULL);
CREATE TABLE dependence_edge (
    kind VARCHAR, write_instruction_id INTEGER NOT NULL, read_instruction_id INTEGER NOT NULL, count BIGINT NOT NULL);
CREATE TABLE use_port (
    instruction_id INTEGER NOT NULL, port INTEGER NOT NULL, kind VARCHAR NOT NULL, dependences BIGINT NOT NULL);
CREATE TABLE instruction_number (instruction_id INTEGER NOT NULL, number UBIGINT NOT NULL);
CREATE TABLE instruction_value (
    instruction_id INTEGER NOT NULL, instance BIGINT NOT NULL, value UBIGINT, wide_value VARCHAR);
CREATE VIEW statement AS
    SELECT s.name AS function, f.path AS file, i.line, count(*) AS instructions, max(i.executions) AS executions, i.function_id, i.file_id
    FROM instruction i JOIN function_symbol s ON s.function_id = i.function_id LEFT JOIN source_file f ON f.file_id = i.file_id
    WHERE i.line IS NOT NULL AND i.executions > 0
    GROUP BY s.name, f.path, i.line, i.function_id, i.file_id;

COMMENT ON TABLE dependence IS 'Dependences of an instance of an instruction on an instance of another. Instances take the place of time, which the trace lacks';
COMMENT ON COLUMN dependence.kind IS 'data; control (the writer decided whether the reader runs); NULL: the trace does not tell the two apart';
COMMENT ON COLUMN dependence.port IS 'Use of the reader that depends, from 0: 0 is control; NULL where the trace has no ports';
COMMENT ON COLUMN dependence.write_instruction_id IS 'Instruction depended upon, NULL: the trace says nothing of it (cut off)';
COMMENT ON COLUMN dependence.write_instance IS 'Which execution of it, from 0';
COMMENT ON COLUMN dependence.read_instruction_id IS 'Instruction that depends';
COMMENT ON COLUMN dependence.read_instance IS 'Which execution of it, from 0; for a port with fewer dependences than executions: which dependence of the port';
COMMENT ON TABLE dependence_edge IS 'Dependences by pair of instructions and kind';
COMMENT ON COLUMN dependence_edge.kind IS 'data, control, or NULL: not known';
COMMENT ON COLUMN dependence_edge.write_instruction_id IS 'Instruction depended upon';
COMMENT ON COLUMN dependence_edge.read_instruction_id IS 'Instruction that depends';
COMMENT ON COLUMN dependence_edge.count IS 'Pairs of instances';
COMMENT ON TABLE use_port IS 'Uses of each instruction: what it may depend on';
COMMENT ON COLUMN use_port.instruction_id IS 'The instruction';
COMMENT ON COLUMN use_port.port IS 'From 0';
COMMENT ON COLUMN use_port.kind IS 'control (port 0) or data';
COMMENT ON COLUMN use_port.dependences IS 'How often it had a dependence';
COMMENT ON TABLE instruction_number IS 'Numbers that the trace gives to instructions';
COMMENT ON COLUMN instruction_number.instruction_id IS 'The instruction';
COMMENT ON COLUMN instruction_number.number IS 'As in the file, unique in it';
COMMENT ON TABLE instruction_value IS 'Values that instructions computed';
COMMENT ON COLUMN instruction_value.instruction_id IS 'The instruction';
COMMENT ON COLUMN instruction_value.instance IS 'Which execution of those that computed a value, from 0';
COMMENT ON COLUMN instruction_value.value IS 'The value, NULL if it needs more than 64 bits';
COMMENT ON COLUMN instruction_value.wide_value IS 'A value of more than 64 bits, in hexadecimal';
COMMENT ON VIEW statement IS 'Statements (source lines) that were exercised, with their instructions and the executions of the one that ran most often';
