-- Properties of the database.
-- reads: meta
-- property, value
SELECT key AS property, value FROM meta;
