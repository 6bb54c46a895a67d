//! ELF (goblin) and DWARF (gimli, addr2line): functions, sections, variables, lines.

use crate::event::Isa;
use std::path::{Path, PathBuf};

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    Function,
    /// PLT stub, veneer, IFUNC resolver.
    Stub,
}

/// A code symbol after the rules of "Functions and symbols": ranges do not overlap, aliases are one, `X.cold` is part of X.
#[derive(Clone, Debug)]
pub struct Function {
    /// As shown: demangled, the chosen alias; without the `(file)` that tells equal names apart.
    pub name: String,
    /// All names, mangled as in the symbol table.
    pub names: Vec<String>,
    pub kind: FunctionKind,
    /// Source or object file from DWARF or STT_FILE.
    pub file: Option<String>,
    /// Entry, link-time address.
    pub address: u64,
    /// Ranges of link-time addresses that belong to it, sorted, half open (more than one with cold parts).
    pub ranges: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub name: String,
    /// Link-time address and size in bytes; only sections that are loaded (SHF_ALLOC).
    pub address: u64,
    pub size: u64,
    pub writable: bool,
    pub executable: bool,
    pub tls: bool,
    /// SHT_NOBITS
    pub zero: bool,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    /// C type name from DWARF (`unsigned char[64]`), if known.
    pub type_name: Option<String>,
    pub address: u64,
    pub size: u64,
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} is not an ELF file that can be read: {message}")]
    NotElf { path: PathBuf, message: String },
    #[error("{path}: instruction set with ELF machine number {machine} is not supported")]
    Machine { path: PathBuf, machine: u16 },
}

/// One ELF file with what was found in it, addresses as linked (add the bias of the loaded image).
pub struct Image {
    pub path: PathBuf,
    pub isa: Isa,
    pub big_endian: bool,
    /// ET_DYN: loaded at a bias that the trace has to tell.
    pub pie: bool,
    pub entry: u64,
    pub functions: Vec<Function>,
    pub sections: Vec<Section>,
    pub variables: Vec<Variable>,
    /// No symbol table: functions are unknown.
    pub stripped: bool,
    /// Lowest and highest link-time address of PT_LOAD.
    pub load_range: (u64, u64),
}

impl Image {
    pub fn open(path: &Path) -> Result<Image, ImageError> {
        let _ = path;
        todo!()
    }

    /// Bytes of the file's contents at a link-time address, to the end of their segment; None outside of file-backed segments.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        let _ = address;
        todo!()
    }

    /// Source file and line of a link-time address.
    pub fn line(&self, address: u64) -> Option<(String, u32)> {
        let _ = address;
        todo!()
    }
}
