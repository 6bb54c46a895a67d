//! Trace formats: from bytes to typed records with their positions, nothing more. One file or
//! folder a format, one word in [`STEP_FORMATS`] or [`TABLE_FORMATS`]; detection by content; files,
//! pipes and compression in [`input`].

pub mod csi;
pub mod dcfg;
pub mod error;
pub mod exception_log;
pub mod execlog;
pub mod gem5;
pub mod giano;
pub mod input;
pub mod lackey;
pub mod layout;
pub mod lines;
pub mod number;
pub mod open;
pub mod problems;
pub mod qemu;
pub mod reader;
pub mod record;
pub mod spike;
pub mod stream;
pub mod tarmac;
pub mod wet;
pub mod xray;

pub use error::TraceError;
pub use reader::{Claim, Context, Format, Listener, ProcessClaim, Sink, StepFormat};

/// Formats whose records are executed instructions.
pub static STEP_FORMATS: &[&dyn StepFormat] = &[
    &lackey::Lackey,
    &qemu::Qemu,
    &execlog::Execlog,
    &giano::Giano,
    &tarmac::Tarmac,
    &spike::Spike,
    &gem5::Gem5,
    &layout::Layout,
    &stream::Stream,
];
/// Formats whose records are calls, communications or control flow; [`crate::load`] has for each of
/// them what fills the tables.
pub static TABLE_FORMATS: &[&dyn Format] = &[&csi::Csi, &dcfg::Dcfg, &wet::Wet, &xray::Xray];

/// Every format, in the order in which `addfg formats` lists them.
pub fn formats() -> impl Iterator<Item = &'static dyn Format> {
    STEP_FORMATS.iter().map(|f| *f as &dyn Format).chain(TABLE_FORMATS.iter().copied())
}

/// A format as [`detect`] gives it.
pub enum Found {
    Steps(&'static dyn StepFormat),
    Tables(&'static dyn Format),
}

impl Found {
    pub fn format(&self) -> &'static dyn Format {
        match self {
            Found::Steps(format) => *format,
            Found::Tables(format) => *format,
        }
    }
}

/// The format of an input: the one named, else the one that recognises its first bytes.
pub fn detect(input: &input::Input, forced: Option<&str>) -> Result<Found, TraceError> {
    let is = |f: &dyn Format| forced.map_or_else(|| f.sniff(input.head()), |name| f.name() == name);
    if let Some(format) = STEP_FORMATS.iter().find(|f| is(**f)) {
        return Ok(Found::Steps(*format));
    }
    if let Some(format) = TABLE_FORMATS.iter().find(|f| is(**f)) {
        return Ok(Found::Tables(*format));
    }
    let seen = match forced {
        Some(name) => format!("no format is named {name}"),
        None => match layout::shipped::fitting(input.head()) {
            Some(layout) => {
                return Err(TraceError::NeedsLayout {
                    name: input.name().to_owned(),
                    layout: layout.name,
                    about: layout.about,
                });
            }
            None => format!(
                "it begins with `{}`",
                input.head()[..input.head().len().min(40)].escape_ascii()
            ),
        },
    };
    Err(TraceError::UnknownFormat { name: input.name().to_owned(), seen })
}
