//! Databases without a trace: one with a hostile name, stubs and a pseudo-function, and one as
//! large as they get.

use duckdb::Connection;
use std::path::Path;

/// As hostile as a symbol's name can be.
pub const HOSTILE: &str = "E\"x\\\n<img src=a>->&amp;\u{1b}[31m\\N";

fn create(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("database");
    for schema in addfg::internals::store::SCHEMA {
        connection.execute_batch(schema).expect("schema");
    }
    connection
        .execute_batch(&format!(
            "INSERT INTO meta VALUES ('schema_version', '{}'), ('detail', 'instance'), ('longest_block', '1');
             INSERT INTO input (input_id, role, path, format, carries_calls, carries_accesses, carries_registers, carries_values, carries_time,
                 carries_threads, carries_kernel_stores)
             VALUES (1, 'trace', 'fixture', 'lackey', false, true, true, false, false, false, false)",
            addfg::internals::store::SCHEMA_VERSION
        ))
        .expect("meta");
    connection
}

/// Function level from the instance level, and what has stubs merged.
fn derive(connection: &Connection) {
    connection
        .execute_batch(
            "INSERT INTO function_edge
             SELECT writer_function_id, reader_function_id, via, sum(bytes), sum(unique_bytes), sum(unique_bytes), sum(transfers)
             FROM dataflow GROUP BY ALL;
             INSERT INTO call_edge
             SELECT p.function_id, c.function_id, c.kind, count(*), sum(c.steps_total)
             FROM function_call c LEFT JOIN function_call p ON p.call_id = c.parent_call_id GROUP BY ALL;
             INSERT INTO function_profile
             SELECT function_id, count(*), sum(steps_self), sum(steps_total), 0, 0 FROM function_call GROUP BY ALL;",
        )
        .expect("function level");
    addfg::internals::load::derived(connection).expect("what is derived");
}

/// The program of the paper's figures 9 and 10: A calls B twice, B calls D, E and (through a stub)
/// puts; C writes what B reads.
pub fn small(path: &Path) {
    let connection = create(path);
    connection
        .execute_batch(
            "INSERT INTO image VALUES (1, 1, '/bin/app', 0, false, NULL, NULL);
             INSERT INTO source_file VALUES (1, '/src/a.c'), (2, '/src/lib/b.c');
             INSERT INTO function_symbol (function_id, name, symbol, kind, image_id, file_id, address, size) VALUES
                 (1, 'A', 'A', 'function', 1, 1, 4096, 16), (2, 'B', 'B', 'function', 1, 2, 4112, 16),
                 (3, 'C', 'C', 'function', 1, 1, 4128, 16), (4, 'D', 'D', 'function', 1, 2, 4144, 16),
                 (6, 'puts@plt', 'puts@plt', 'stub', 1, NULL, 4176, 16), (7, 'puts', 'puts', 'function', 1, NULL, 4192, 16),
                 (8, '<input>', NULL, 'pseudo', NULL, NULL, NULL, NULL),
                 (9, 'twice (a.c)', 'twice', 'function', 1, 1, 4208, 16), (10, 'twice (b.c)', 'twice', 'function', 1, 2, 4224, 16),
                 (11, 'ns::f(int)', 'ns::f(int)', 'function', 1, 2, 4240, 16);
             INSERT INTO function_name VALUES (9, 'twice'), (10, 'twice'), (11, '_ZN2ns1fEi');
             -- call_id, function, instance, parent, tail of, thread, depth, kind, ending, ..., self, total
             INSERT INTO function_call_row (call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                 return_seq, call_time, return_time, call_instruction_id, steps_self, steps_total) VALUES
                 (1, 1, 1, NULL, NULL, 1, 0, 'root', 'open', 1, 100, NULL, NULL, NULL, 10, 100),
                 (2, 3, 1, 1, NULL, 1, 1, 'call', 'return', 2, 9, NULL, NULL, NULL, 8, 8),
                 (3, 2, 1, 1, NULL, 1, 1, 'call', 'return', 10, 39, NULL, NULL, NULL, 20, 30),
                 (4, 4, 1, 3, NULL, 1, 2, 'call', 'return', 20, 29, NULL, NULL, NULL, 10, 10),
                 (5, 2, 2, 1, NULL, 1, 1, 'call', 'return', 40, 91, NULL, NULL, NULL, 20, 52),
                 (6, 5, 1, 5, NULL, 1, 2, 'call', 'return', 50, 79, NULL, NULL, NULL, 30, 30),
                 (7, 6, 1, 5, NULL, 1, 2, 'stub', 'tail', 80, 80, NULL, NULL, NULL, 1, 1),
                 (8, 7, 1, 5, 7, 1, 2, 'tail', 'return', 81, 81, NULL, NULL, NULL, 1, 1),
                 (9, 9, 1, 1, NULL, 1, 1, 'call', 'return', 92, 92, NULL, NULL, NULL, 0, 0),
                 (10, 10, 1, 1, NULL, 1, 1, 'call', 'return', 93, 93, NULL, NULL, NULL, 0, 0);
             -- writer call, reader call, writer, reader, via, bytes, unique, transfers
             INSERT INTO place SELECT i, ['register', 'stack', 'heap', 'global'][i], 8 FROM range(1, 5) t(i);
             INSERT INTO dataflow_row
             SELECT f.writer_call, f.reader_call, nullif(f.writer, 8), f.reader, p.place_id, f.bytes, f.uniq, f.transfers
             FROM (VALUES
                 (2, 3, 3, 2, 'heap', 4096, 2048, 512), (2, 5, 3, 2, 'global', 100, 100, 25),
                 (4, 3, 4, 2, 'register', 8, 8, 1), (3, 3, 2, 2, 'stack', 640, 64, 80),
                 (5, 6, 2, 5, 'register', 16, 16, 2), (5, 6, 2, 5, 'stack', 1200, 1200, 300),
                 (5, 7, 2, 6, 'register', 8, 8, 1), (NULL, 7, 8, 6, 'global', 8, 8, 1), (7, 8, 6, 7, 'register', 4, 4, 1),
                 (NULL, 3, 8, 2, 'heap', 2000000, 2000000, 500000))
                 f(writer_call, reader_call, writer, reader, via, bytes, uniq, transfers) JOIN place p USING (via);
             UPDATE function_call_row SET bytes_in = (
                 SELECT coalesce(sum(d.bytes), 0) FROM dataflow_row d
                 WHERE d.reader_call_id = call_id AND d.writer_call_id IS DISTINCT FROM call_id);",
        )
        .expect("rows");
    connection
        .execute(
            "INSERT INTO function_symbol (function_id, name, symbol, kind, image_id, file_id, address, size) VALUES (5, ?, ?, 'function', 1, 1, 4160, 16)",
            [HOSTILE, HOSTILE],
        )
        .expect("hostile name");
    derive(&connection);
}

/// 5,000 functions, 100,000 pairs of them with data, 20,000 with calls.
pub fn large(path: &Path) {
    let connection = create(path);
    connection
        .execute_batch(
            "INSERT INTO source_file SELECT i, 'src/file' || i || '.c' FROM range(1, 101) t(i);
             INSERT INTO function_symbol (function_id, name, symbol, kind, image_id, file_id, address, size)
             SELECT i, 'function_' || i, 'function_' || i, 'function', NULL, 1 + i % 100, 4096 + i * 64, 64 FROM range(1, 5001) t(i);
             INSERT INTO function_profile SELECT i, 1 + i % 50, 10000000 // i, 10000000 // i, 0, 0 FROM range(1, 5001) t(i);
             INSERT INTO function_edge
             SELECT 1 + i * 7919 % 5000, 1 + (i * 104729 + i // 5000) % 5000,
                    ['register', 'stack', 'heap', 'global', 'constant'][1 + i % 5], 1 + 100000000 // (1 + i), NULL, NULL, 1
             FROM range(100000) t(i);
             INSERT INTO call_edge SELECT 1 + i * 31 % 5000, 1 + i * 17 % 5000, 'call', 1 + i % 100, 1000000 // (1 + i)
             FROM range(20000) t(i);",
        )
        .expect("rows");
    addfg::internals::load::derived(&connection).expect("what is derived");
}
