//! Layouts that come with addfg.

/// A layout by its name.
pub struct Shipped {
    pub name: &'static str,
    /// One line: what logs it is for.
    pub about: &'static str,
    pub text: &'static str,
}

pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "sail",
        about: "Sail's RISC-V model, --trace",
        text: include_str!("shipped/sail.toml"),
    },
    Shipped {
        name: "renode",
        about: "Renode's execution tracing: Disassembly, PCAndOpcode, PC",
        text: include_str!("shipped/renode.toml"),
    },
    Shipped {
        name: "ibex",
        about: "the tracer of the RISC-V core ibex",
        text: include_str!("shipped/ibex.toml"),
    },
    Shipped {
        name: "cv32e40p",
        about: "the tracer of the RISC-V core cv32e40p",
        text: include_str!("shipped/ibex.toml"),
    },
    Shipped {
        name: "dynamorio",
        about: "DynamoRIO's drmemtrace, -tool view",
        text: include_str!("shipped/dynamorio.toml"),
    },
];

/// The layout of a name.
pub fn named(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}
