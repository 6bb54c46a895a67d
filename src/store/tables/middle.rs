//! Rows of `schema/2_middle.sql`.

use crate::analysis::{CallKind, Ending};
use crate::id::{CallId, FunctionId, InstructionId, Seq, ThreadId};
use crate::store::row::tables;

tables! {
    FunctionCall, FunctionCalls = "function_call_row" {
        call_id: CallId => INTEGER,
        function_id: FunctionId => INTEGER,
        instance: u32 => INTEGER,
        parent_call_id: Option<CallId> => INTEGER,
        tail_of_call_id: Option<CallId> => INTEGER,
        thread_id: ThreadId => INTEGER,
        depth: u32 => INTEGER,
        kind: CallKind => VARCHAR,
        ending: Ending => VARCHAR,
        call_seq: Option<Seq> => BIGINT,
        return_seq: Option<Seq> => BIGINT,
        call_time: Option<u64> => UBIGINT,
        return_time: Option<u64> => UBIGINT,
        call_instruction_id: Option<InstructionId> => INTEGER,
        steps_self: Option<u64> => BIGINT,
        steps_total: Option<u64> => BIGINT,
        bytes_in: Option<u64> => BIGINT,
    }

    CommunicationKind, CommunicationKinds = "communication_kind" {
        kind_id: u32 => INTEGER,
        read_ordinal: u16 => USMALLINT,
        write_ordinal: Option<u16> => USMALLINT,
        is_register: bool => BOOLEAN,
        bytes: u32 => UINTEGER,
    }

    CommunicationRow, CommunicationRows = "communication_row" {
        read_seq: u64 => BIGINT,
        write_back: Option<i64> => BIGINT,
        kind_id: u32 => INTEGER,
        address: u64 => UBIGINT,
    }

    SavedRegister, SavedRegisters = "saved_register_row" {
        call_id: CallId => INTEGER,
        save_seq: u64 => BIGINT,
        save_ordinal: u16 => USMALLINT,
        register_address: u32 => UINTEGER,
        bytes: u32 => UINTEGER,
        address: u64 => UBIGINT,
        restore_seq: Option<u64> => BIGINT,
        restores: u32 => INTEGER,
        exposed_seq: Option<u64> => BIGINT,
    }
}
