//! Rows of `schema/1_low.sql`.

use crate::id::{
    BlockId, FileId, FunctionId, ImageId, InlinedCallId, InstructionId, ProcessId, SectionId, Seq,
    ThreadId,
};
use crate::store::row::tables;

tables! {
    Process<'a>, Processes = "process" {
        process_id: ProcessId => INTEGER,
        pid: Option<u64> => BIGINT,
        name: Option<&'a str> => VARCHAR,
    }

    Thread, Threads = "thread" {
        thread_id: ThreadId => INTEGER,
        process_id: ProcessId => INTEGER,
        tid: Option<i64> => BIGINT,
        steps: Option<u64> => BIGINT,
    }

    Image<'a>, Images = "image" {
        image_id: ImageId => INTEGER,
        process_id: Option<ProcessId> => INTEGER,
        path: &'a str => VARCHAR,
        bias: Option<u64> => UBIGINT,
        stripped: Option<bool> => BOOLEAN,
        load_seq: Option<u64> => BIGINT,
        unload_seq: Option<u64> => BIGINT,
    }

    Section<'a>, Sections = "section" {
        section_id: SectionId => INTEGER,
        image_id: ImageId => INTEGER,
        name: &'a str => VARCHAR,
        address: u64 => UBIGINT,
        size: u64 => UBIGINT,
        writable: bool => BOOLEAN,
        executable: bool => BOOLEAN,
    }

    SourceFile<'a>, SourceFiles = "source_file" {
        file_id: FileId => INTEGER,
        path: &'a str => VARCHAR,
    }

    FunctionSymbol<'a>, FunctionSymbols = "function_symbol" {
        function_id: FunctionId => INTEGER,
        name: &'a str => VARCHAR,
        symbol: Option<&'a str> => VARCHAR,
        kind: &'a str => VARCHAR,
        image_id: Option<ImageId> => INTEGER,
        file_id: Option<FileId> => INTEGER,
        address: Option<u64> => UBIGINT,
        size: Option<u64> => UBIGINT,
        owner: Option<&'a str> => VARCHAR,
    }

    FunctionName<'a>, FunctionNameRows = "function_name" {
        function_id: FunctionId => INTEGER,
        name: &'a str => VARCHAR,
    }

    Variable<'a>, Variables = "variable" {
        variable_id: u32 => INTEGER,
        name: &'a str => VARCHAR,
        type_name: Option<&'a str> => VARCHAR,
        image_id: Option<ImageId> => INTEGER,
        file_id: Option<FileId> => INTEGER,
        line: Option<u32> => INTEGER,
        address: u64 => UBIGINT,
        size: u64 => UBIGINT,
    }

    VariableDimension<'a>, VariableDimensions = "variable_dimension" {
        variable_id: u32 => INTEGER,
        position: u32 => INTEGER,
        first: i64 => BIGINT,
        length: u64 => UBIGINT,
        stride: u64 => UBIGINT,
        brackets: &'a str => VARCHAR,
    }

    VariableField<'a>, VariableFields = "variable_field" {
        variable_id: u32 => INTEGER,
        name: &'a str => VARCHAR,
        start: u64 => UBIGINT,
        size: u64 => UBIGINT,
        stride: Option<u64> => UBIGINT,
    }

    Register<'a>, Registers = "register" {
        address: u32 => UINTEGER,
        name: &'a str => VARCHAR,
        size: u32 => UINTEGER,
        is_control: bool => BOOLEAN,
    }

    Instruction<'a>, Instructions = "instruction" {
        instruction_id: InstructionId => INTEGER,
        process_id: Option<ProcessId> => INTEGER,
        image_id: Option<ImageId> => INTEGER,
        address: u64 => UBIGINT,
        opcode: Option<&'a [u8]> => BLOB,
        text: Option<&'a str> => VARCHAR,
        size: Option<u8> => UTINYINT,
        function_id: FunctionId => INTEGER,
        file_id: Option<FileId> => INTEGER,
        line: Option<u32> => INTEGER,
        class: &'a str => VARCHAR,
        target: Option<u64> => UBIGINT,
        conditional: Option<bool> => BOOLEAN,
        repeats: Option<bool> => BOOLEAN,
        executions: u64 => BIGINT,
    }

    InlinedCall<'a>, InlinedCalls = "inlined_call" {
        inlined_call_id: InlinedCallId => INTEGER,
        name: &'a str => VARCHAR,
        function_id: FunctionId => INTEGER,
        parent_inlined_call_id: Option<InlinedCallId> => INTEGER,
        file_id: Option<FileId> => INTEGER,
        line: Option<u32> => INTEGER,
    }

    InlinedInstruction, InlinedInstructions = "inlined_instruction" {
        instruction_id: InstructionId => INTEGER,
        inlined_call_id: InlinedCallId => INTEGER,
    }

    BlockStep, BlockSteps = "block_step" {
        block_id: BlockId => INTEGER,
        step: u32 => INTEGER,
        instruction_id: InstructionId => INTEGER,
        executed: bool => BOOLEAN,
    }

    BlockAccess<'a>, BlockAccesses = "block_access" {
        block_id: BlockId => INTEGER,
        step: u32 => INTEGER,
        ordinal: u16 => USMALLINT,
        is_write: bool => BOOLEAN,
        space: &'a str => VARCHAR,
        register_address: Option<u32> => UINTEGER,
        memory_index: Option<u32> => INTEGER,
        value_index: Option<u32> => INTEGER,
        size: u32 => UINTEGER,
        is_control: bool => BOOLEAN,
        is_stack_relative: bool => BOOLEAN,
        data_register: Option<u32> => UINTEGER,
    }

    BlockRun<'a>, BlockRuns = "block_run" {
        start_seq: u64 => BIGINT,
        thread_id: ThreadId => INTEGER,
        block_id: BlockId => INTEGER,
        address: Option<&'a [u64]> => UBIGINTS,
        value: Option<&'a [Option<u64>]> => UBIGINTS,
        time: Option<&'a [u64]> => UBIGINTS,
        sp: Option<u64> => UBIGINT,
        linked: Option<bool> => BOOLEAN,
    }

    RunChunk, RunChunks = "run_chunk" {
        first_seq: u64 => BIGINT,
        last_seq: u64 => BIGINT,
    }

    RunPiece<'a>, RunPieces = "run_piece" {
        first_seq: u64 => BIGINT,
        piece: u32 => INTEGER,
        data: &'a [u8] => BLOB,
    }

    RunState<'a>, RunStates = "run_state" {
        first_seq: u64 => BIGINT,
        part: &'a str => VARCHAR,
        piece: u32 => INTEGER,
        data: &'a [u8] => BLOB,
    }

    RunCode<'a>, RunCodes = "run_code" {
        data: &'a [u8] => BLOB,
    }

    ThreadEvent<'a>, ThreadEvents = "thread_event_row" {
        seq: Option<Seq> => BIGINT,
        thread_id: ThreadId => INTEGER,
        kind: &'a str => VARCHAR,
        parent_thread_id: Option<ThreadId> => INTEGER,
        name: Option<&'a str> => VARCHAR,
    }

    SystemCall<'a>, SystemCalls = "system_call_row" {
        system_call_id: u32 => INTEGER,
        seq: Option<Seq> => BIGINT,
        thread_id: ThreadId => INTEGER,
        number: Option<i64> => BIGINT,
        name: Option<&'a str> => VARCHAR,
        result: Option<u64> => UBIGINT,
    }

    SystemCallAccess<'a>, SystemCallAccesses = "system_call_access_row" {
        system_call_id: u32 => INTEGER,
        ordinal: u32 => INTEGER,
        is_write: bool => BOOLEAN,
        address: u64 => UBIGINT,
        bytes: u64 => UBIGINT,
        source: Option<&'a str> => VARCHAR,
    }

    Mapping<'a>, Mappings = "mapping_row" {
        seq: Option<Seq> => BIGINT,
        process_id: ProcessId => INTEGER,
        kind: &'a str => VARCHAR,
        address: u64 => UBIGINT,
        bytes: u64 => UBIGINT,
        file_offset: Option<u64> => UBIGINT,
        to_address: Option<u64> => UBIGINT,
        path: Option<&'a str> => VARCHAR,
    }

    Allocation<'a>, Allocations = "allocation_row" {
        seq: Option<Seq> => BIGINT,
        thread_id: ThreadId => INTEGER,
        kind: &'a str => VARCHAR,
        address: u64 => UBIGINT,
        bytes: Option<u64> => UBIGINT,
    }

    SignalEvent<'a>, SignalEvents = "signal_event_row" {
        seq: Option<Seq> => BIGINT,
        thread_id: ThreadId => INTEGER,
        kind: &'a str => VARCHAR,
        number: Option<u32> => INTEGER,
    }

    Marker<'a>, Markers = "marker_row" {
        seq: Option<Seq> => BIGINT,
        thread_id: ThreadId => INTEGER,
        text: &'a str => VARCHAR,
    }
}
