//! Rows of `schema/0_meta.sql`.

use crate::store::row::tables;

tables! {
    Meta<'a>, Metas = "meta" {
        key: &'a str => VARCHAR,
        value: Option<&'a str> => VARCHAR,
    }

    Input<'a>, Inputs = "input" {
        input_id: u32 => INTEGER,
        role: &'a str => VARCHAR,
        path: Option<&'a str> => VARCHAR,
        format: Option<&'a str> => VARCHAR,
        size: Option<u64> => UBIGINT,
        hash: Option<&'a str> => VARCHAR,
        options: Option<&'a str> => VARCHAR,
        carries_calls: Option<bool> => BOOLEAN,
        carries_accesses: Option<bool> => BOOLEAN,
        carries_registers: Option<bool> => BOOLEAN,
        carries_values: Option<bool> => BOOLEAN,
        carries_time: Option<bool> => BOOLEAN,
        carries_threads: Option<bool> => BOOLEAN,
        carries_kernel_stores: Option<bool> => BOOLEAN,
        carries_dependences: Option<bool> => BOOLEAN,
        carries_paths: Option<bool> => BOOLEAN,
    }

    Diagnostic<'a>, DiagnosticRows = "diagnostic" {
        severity: &'a str => VARCHAR,
        code: &'a str => VARCHAR,
        message: &'a str => VARCHAR,
        count: u64 => BIGINT,
        first_position: Option<&'a str> => VARCHAR,
        remedy: Option<&'a str> => VARCHAR,
    }
}
