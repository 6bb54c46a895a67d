//! The records of flight data recorder logs that are not entries and exits.

/// Kinds of the 16-byte records.
pub(super) const NEW_BUFFER: u8 = 0;
pub(super) const END_OF_BUFFER: u8 = 1;
pub(super) const NEW_CPU: u8 = 2;
pub(super) const TSC_WRAP: u8 = 3;
pub(super) const WALL_TIME: u8 = 4;
pub(super) const CUSTOM_EVENT: u8 = 5;
pub(super) const CALL_ARGUMENT: u8 = 6;
pub(super) const EXTENTS: u8 = 7;
pub(super) const TYPED_EVENT: u8 = 8;
pub(super) const PID: u8 = 9;

/// Bytes of the records that are not entries and exits.
pub(super) const METADATA: usize = 16;
