//! ARM, AArch64 and RISC-V through SLEIGH p-code.
use super::{Decoded, Decoder, Registers};
use crate::event::Isa;
pub struct Pcode {
    isa: Isa,
}
impl Pcode {
    pub fn new(isa: Isa, _big_endian: bool) -> Pcode {
        Pcode { isa }
    }
}
impl Decoder for Pcode {
    fn isa(&self) -> Isa {
        self.isa
    }
    fn decode(&mut self, _address: u64, _bytes: &[u8], _thumb: bool) -> Option<Decoded> {
        todo!()
    }
}
pub fn registers(_isa: Isa) -> &'static Registers {
    todo!()
}
