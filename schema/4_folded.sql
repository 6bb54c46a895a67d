-- PLT stubs, veneers and IFUNC resolvers merged into their callers: what graphs draw. A call instance of a stub function belongs to
-- the nearest caller that is none; one without caller stays. Needs call instances: at detail summary nothing is merged.
CREATE VIEW folded_call AS
    WITH RECURSIVE stub AS (
        SELECT c.call_id, c.function_id, c.parent_call_id AS target, c.steps_self
        FROM function_call c JOIN function_symbol s ON s.function_id = c.function_id
        WHERE s.kind = 'stub' AND c.parent_call_id < c.call_id),
    above AS (
        SELECT call_id, target FROM stub
        UNION ALL SELECT a.call_id, s.target FROM above a JOIN stub s ON s.call_id = a.target)
    SELECT s.call_id, s.function_id, t.call_id AS into_call_id, t.function_id AS into_function_id, s.steps_self
    FROM above a JOIN stub s ON s.call_id = a.call_id JOIN function_call t ON t.call_id = a.target
    ANTI JOIN stub again ON again.call_id = a.target;
-- dead_bytes and written_bytes of a stub are known for all its callers together only, so they are left to function_profile.
CREATE VIEW function_profile_folded AS
    WITH gone AS (SELECT function_id, count(*) AS calls, sum(steps_self) AS steps FROM folded_call GROUP BY ALL),
    come AS (SELECT into_function_id AS function_id, sum(steps_self) AS steps FROM folded_call GROUP BY ALL)
    SELECT p.function_id, p.calls - coalesce(gone.calls, 0) AS calls,
           (p.steps_self - coalesce(gone.steps, 0) + coalesce(come.steps, 0))::BIGINT AS steps_self,
           CASE WHEN gone.calls IS NULL THEN p.steps_total END AS steps_total
    FROM function_profile p LEFT JOIN gone USING (function_id) LEFT JOIN come USING (function_id)
    WHERE p.calls > coalesce(gone.calls, 0);
-- unique_bytes and addresses are NULL where something was merged: they are no sums of what the parts had.
CREATE VIEW function_edge_folded AS
    WITH stub AS (SELECT DISTINCT function_id FROM folded_call)
    SELECT writer_function_id, reader_function_id, via, sum(bytes)::BIGINT AS bytes,
           CASE WHEN NOT bool_or(merged) THEN sum(unique_bytes)::BIGINT END AS unique_bytes,
           CASE WHEN NOT bool_or(merged) THEN sum(addresses)::BIGINT END AS addresses, sum(transfers)::BIGINT AS transfers
    FROM (SELECT *, false AS merged FROM function_edge
          WHERE writer_function_id NOT IN (FROM stub) AND reader_function_id NOT IN (FROM stub)
          UNION ALL
          SELECT coalesce(w.into_function_id, d.writer_function_id), coalesce(r.into_function_id, d.reader_function_id), d.via,
                 d.bytes, NULL, NULL, d.transfers, true
          FROM dataflow d LEFT JOIN folded_call w ON w.call_id = d.writer_call_id
          LEFT JOIN folded_call r ON r.call_id = d.reader_call_id
          WHERE d.writer_function_id IN (FROM stub) OR d.reader_function_id IN (FROM stub))
    GROUP BY ALL;
CREATE VIEW call_edge_folded AS
    WITH stub AS (SELECT DISTINCT function_id FROM folded_call),
    caller AS (
        SELECT call_id, into_function_id AS function_id FROM folded_call
        UNION ALL SELECT call_id, function_id FROM function_call
                  WHERE function_id IN (FROM stub) AND (parent_call_id < call_id) IS NOT TRUE)
    SELECT caller_function_id, callee_function_id, kind, sum(calls)::BIGINT AS calls, sum(steps)::BIGINT AS steps
    FROM (SELECT * FROM call_edge
          WHERE callee_function_id NOT IN (FROM stub)
                AND (caller_function_id IS NULL OR caller_function_id NOT IN (FROM stub))
          UNION ALL
          SELECT caller.function_id, c.function_id, c.kind, 1, c.steps_total
          FROM function_call c JOIN caller ON caller.call_id = c.parent_call_id
          ANTI JOIN folded_call f ON f.call_id = c.call_id
          UNION ALL
          SELECT NULL, c.function_id, c.kind, 1, c.steps_total FROM function_call c
          WHERE c.function_id IN (FROM stub) AND (c.parent_call_id < c.call_id) IS NOT TRUE)
    GROUP BY ALL;

COMMENT ON VIEW folded_call IS 'Stub instances and the call instance that each is merged into';
COMMENT ON COLUMN folded_call.call_id IS 'Stub instance';
COMMENT ON COLUMN folded_call.function_id IS 'Its function';
COMMENT ON COLUMN folded_call.into_call_id IS 'Instance that it is merged into';
COMMENT ON COLUMN folded_call.into_function_id IS 'Function of that';
COMMENT ON COLUMN folded_call.steps_self IS 'Steps of the stub instance itself';
COMMENT ON VIEW function_profile_folded IS 'function_profile with stubs merged into their callers';
COMMENT ON COLUMN function_profile_folded.function_id IS 'Function';
COMMENT ON COLUMN function_profile_folded.calls IS 'Call instances';
COMMENT ON COLUMN function_profile_folded.steps_self IS 'Steps in its instances and in the stubs merged into them';
COMMENT ON COLUMN function_profile_folded.steps_total IS 'Inclusive steps; NULL for a stub function of which only a part was merged';
COMMENT ON VIEW function_edge_folded IS 'function_edge with stubs merged into their callers';
COMMENT ON COLUMN function_edge_folded.writer_function_id IS 'Function that wrote';
COMMENT ON COLUMN function_edge_folded.reader_function_id IS 'Function that read';
COMMENT ON COLUMN function_edge_folded.via IS 'register, stack, heap, global, constant, mmio, other';
COMMENT ON COLUMN function_edge_folded.bytes IS 'Bytes read, each read counted';
COMMENT ON COLUMN function_edge_folded.unique_bytes IS 'Distinct (byte, write) pairs per reading instance; NULL where a stub was merged';
COMMENT ON COLUMN function_edge_folded.addresses IS 'Distinct cells; NULL where a stub was merged';
COMMENT ON COLUMN function_edge_folded.transfers IS 'Distinct (write access, read access) pairs';
COMMENT ON VIEW call_edge_folded IS 'call_edge with stubs merged into their callers';
COMMENT ON COLUMN call_edge_folded.caller_function_id IS 'Function that called, NULL for a root';
COMMENT ON COLUMN call_edge_folded.callee_function_id IS 'Function that was called';
COMMENT ON COLUMN call_edge_folded.kind IS 'Kind of the callee instances';
COMMENT ON COLUMN call_edge_folded.calls IS 'Instances';
COMMENT ON COLUMN call_edge_folded.steps IS 'Their steps with all below them';
