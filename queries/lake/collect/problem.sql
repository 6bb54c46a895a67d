-- Kinds of problems met while building
-- reads: diagnostic
-- column severity VARCHAR: info, warning or error
-- column code VARCHAR: Stable name of the kind of problem
-- column message VARCHAR: The first one in words
-- column count BIGINT: How many were met
-- column remedy VARCHAR: What to do about it, if anything
SELECT severity, code, message, count, remedy FROM diagnostic ORDER BY severity, code
