//! Rows of `schema/7_dependence.sql`.

use crate::id::InstructionId;
use crate::store::row::tables;

tables! {
    UsePort<'a>, UsePorts = "use_port" {
        instruction_id: InstructionId => INTEGER,
        port: u32 => INTEGER,
        kind: &'a str => VARCHAR,
        dependences: u64 => BIGINT,
    }

    InstructionNumber, InstructionNumbers = "instruction_number" {
        instruction_id: InstructionId => INTEGER,
        number: u64 => UBIGINT,
    }

    InstructionValue<'a>, InstructionValues = "instruction_value" {
        instruction_id: InstructionId => INTEGER,
        instance: u64 => BIGINT,
        value: Option<u64> => UBIGINT,
        wide_value: Option<&'a str> => VARCHAR,
    }
}
