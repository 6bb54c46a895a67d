//! What the program and this project's own tests, benchmarks and fuzz targets use of the rooms. It
//! is no interface: it changes with any commit.
//!
//! The rooms are private, so that the compiler tells of what nobody uses any more.

pub mod cli {
    pub use crate::cli::{is_closed_pipe, main, say_error};
}
pub mod analysis {
    pub use crate::analysis::{
        Call, CodeMap, Communication, Details, Flow, FoldedCall, Interval, Options, Output,
        SavedRegister,
    };
    pub mod access {
        pub use crate::analysis::access::SaveRule;
    }
    pub mod origin {
        pub use crate::analysis::origin::Origin;
    }
    pub mod pass {
        pub use crate::analysis::pass::{FrameSlot, Pass, Processor};
    }
    pub mod superblock {
        pub use crate::analysis::superblock::HOT;
    }
}
pub mod diagnostics {
    pub use crate::diagnostics::Diagnostic;
}
pub mod event {
    pub use crate::event::{
        BlockDef, Carries, Condition, InsnDef, Isa, LoggedAccess, RegSpan, RegUse, RunBatch,
        StepBatch,
    };
}
pub mod export {
    pub use crate::export::{EXPORTS, Made};
}
pub mod graph {
    pub use crate::graph::{
        BoxRole, Change, Edge, EdgeKind, Facts, Flow, Focus, Folding, Graph, Level, Node, NodeId,
        NodeKind, Overview, OverviewBox, OverviewLine, Selection, Show, Strategy, Stubs, Via, load,
        prepare_merged, resolve_function, stored_contexts,
    };
}
pub mod id {
    pub use crate::id::{AccessRef, BlockId, FunctionId, Seq, ThreadId};
}
pub mod image {
    pub use crate::image::{AddressSpace, FunctionRef, Image, Loaded, SledKind};
    pub mod unwind {
        pub use crate::image::unwind::Core;
    }
}
pub mod isa {
    pub use crate::isa::{Decoded, Decoder, decoder, registers};
    pub mod elaborate {
        pub use crate::isa::elaborate::Elaborator;
    }
    pub mod resolve {
        pub use crate::isa::resolve::resolve;
    }
}
pub mod lake {
    pub use crate::lake::{Labels, Lake, collected, is_lake, views};
    pub mod compare {
        pub use crate::lake::compare::{Changed, Wish, changed};
    }
    pub mod questions {
        pub use crate::lake::questions::{all, ask};
    }
}
pub mod load {
    pub use crate::load::{BuildError, Detail, ElfInput, Options, derived, load};
    pub mod packed {
        pub use crate::load::packed::Wanted;
    }
    pub mod parts {
        pub use crate::load::parts::Parts;
    }
    pub mod rows {
        pub use crate::load::rows::PassRows;
    }
    pub mod states {
        pub use crate::load::states::{are_made, make};
    }
}
pub mod paths {
    pub use crate::paths::{Block, BlockKind, Edge, End, Function, Numbering, Path, Position};
}
pub mod query {
    pub use crate::query::{WINDOW, not_applicable, verify};
}
pub mod ranges {
    pub mod linker {
        pub use crate::ranges::linker::memories;
    }
    pub mod svd {
        pub use crate::ranges::svd::described;
    }
}
pub mod render {
    pub use crate::render::{Made, RENDERERS, renderer};
    pub mod dot {
        pub use crate::render::dot::{render, render_for_layout};
    }
    pub mod json {
        pub use crate::render::json::render;
    }
    pub mod layout {
        pub use crate::render::layout::{LayoutError, draw};
    }
    pub mod overview {
        pub use crate::render::overview::dot;
    }
    pub mod rows {
        pub use crate::render::rows::RowFormat;
    }
}
pub mod replay {
    pub use crate::replay::{Code, Places, places};
    pub mod code {
        pub use crate::replay::code::Code;
    }
    pub mod critical {
        pub use crate::replay::critical::{Weight, critical_path};
    }
    pub mod crossing {
        pub use crate::replay::crossing::{Along, Callees, Rule};
    }
    pub mod slice {
        pub use crate::replay::slice::{Bounds, Criterion, Slice, backward};
    }
    pub mod structure {
        pub use crate::replay::structure::{control_dependences, immediate_dominators, loops};
    }
    pub mod writers {
        pub use crate::replay::writers::{Communication, communications};
    }
}
pub mod report {
    pub use crate::report::{Options, Replayed, data, page};
}
pub mod scan {
    pub use crate::scan::{Error, Shared, Sources, register};
}
pub mod source {
    pub use crate::store::source::{Block, Cells, Column, Kind, Source, all, failed};
}
pub mod store {
    pub use crate::store::{EMPTY, NEAR_FLOWS, SCHEMA, SCHEMA_VERSION};
    pub mod catalog {
        pub use crate::store::catalog::lines;
    }
    pub mod open {
        pub use crate::store::open::{Opening, Reach, Trust, is_duckdb, open, open_as, open_both};
    }
    pub mod sqlite {
        pub use crate::store::sqlite::{LEFT_OUT, LEFT_OUT_KEY, is_sqlite, views};
    }
    pub mod table {
        pub use crate::store::table::{Batch, Stream};
    }
    pub mod tables {
        pub use crate::store::tables::{BlockRun, BlockRuns};
    }
    pub mod writer {
        pub use crate::store::writer::{Writer, make_empty};
    }
}
pub mod text {
    pub use crate::text::visible;
}
pub mod trace {
    pub use crate::trace::{
        Context, Found, Listener, STEP_FORMATS, Sink, StepFormat, TABLE_FORMATS, TraceError,
        detect, formats,
    };
    pub mod csi {
        pub mod frames {
            pub use crate::trace::csi::frames::parse;
        }
        pub mod metadata {
            pub use crate::trace::csi::metadata::{Described, parse};
        }
    }
    pub mod dcfg {
        pub use crate::trace::dcfg::read_graph;
        pub mod graph {
            pub use crate::trace::dcfg::graph::Graph;
        }
        pub mod trace {
            pub use crate::trace::dcfg::trace::Records;
        }
    }
    pub mod input {
        pub use crate::trace::input::Input;
    }
    pub mod layout {
        pub mod shipped {
            pub use crate::trace::layout::shipped::{SHIPPED, named};
        }
    }
    pub mod qemu {
        pub use crate::trace::qemu::Qemu;
    }
    pub mod stream {
        pub use crate::trace::stream::{HEADER, PIECE_HEADER, Stream, piece_length};
    }
    pub mod wet {
        pub use crate::trace::wet::{
            At, Execution, NumberedExecution, StaticInstruction, Value, Visitor, is_history,
            read_comprehensive, read_history,
        };
    }
    pub mod xray {
        pub use crate::trace::xray::{Event, Index, merge};
    }
}
pub mod views {
    pub use crate::views::ViewError;
    pub mod calls {
        pub use crate::views::calls::{timeline, tree};
    }
    pub mod critical {
        pub use crate::views::critical::critical;
    }
    pub mod cut {
        pub use crate::views::cut::{Shown, choose, cut};
    }
    pub mod flows {
        pub use crate::views::flows::{
            End, Ends, communications, dependences, has_dependences, sums,
        };
    }
    pub mod library {
        pub use crate::views::library::{Kind, Query, all};
    }
    pub mod listing {
        pub use crate::views::listing::Listing;
    }
    pub mod loops {
        pub use crate::views::loops::loops;
    }
    pub mod matrix {
        pub use crate::views::matrix::matrix;
    }
    pub mod memory {
        pub use crate::views::memory::{gnuplot, memory};
    }
    pub mod rows {
        pub use crate::views::rows::ensure;
    }
    pub mod slice {
        pub use crate::views::slice::{Along, Direction, slice};
    }
}
