//! From the high level to a graph: functions (or files, images, call instances), calls and
//! dataflow, so few of them that a person can read the picture. Nothing is left out without being
//! counted ([`Graph::left_out`]).
//!
//! `model`, `level` and `selection` are the words; `rows` reads what queries give; `functions`,
//! `instances`, `contexts`, `parts`, `recorded`, `steps`, `memories` and `bottom_up` read a level each; `grouping`,
//! `choice` and `edges` make few of many; `load` goes through it all. `resolve`, `names`, `merged`
//! and `facts` are what views and exports ask for, too.

mod bottom_up;
mod choice;
mod contexts;
mod edges;
mod error;
mod facts;
mod functions;
mod grouping;
mod groups;
mod instances;
mod level;
mod load;
mod loops;
mod memories;
mod merged;
mod model;
mod names;
mod overview;
mod parts;
mod recorded;
mod resolve;
mod rows;
mod selection;
mod steps;

pub use contexts::{Context, Recursion, context_list, contexts, stored as stored_contexts};
pub use error::GraphError;
pub use facts::Facts;
pub use level::{Inside, Level};
pub use load::{load, load_with};
pub use loops::loop_lines;
pub use memories::by_memory;
pub use merged::prepare_merged;
pub use model::{Change, Edge, EdgeKind, Flow, Graph, Node, NodeId, NodeKind, Via};
pub use names::FunctionNames;
pub use overview::{
    BoxRole, Folding, Overview, OverviewBox, OverviewLine, distinct_name, is_called, short_name,
};
pub use resolve::{resolve_function, resolve_whole};
pub use selection::{Focus, Selection, Show, Strategy, Stubs};
