//! x86 and x86-64 through iced-x86.
use super::{Decoded, Decoder, Registers};
use crate::event::Isa;
pub struct X86 {
    isa: Isa,
}
impl X86 {
    pub fn new(isa: Isa) -> X86 {
        X86 { isa }
    }
}
impl Decoder for X86 {
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
