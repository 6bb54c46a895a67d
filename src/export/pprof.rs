//! pprof's profile: stacks with what they cost, as gzipped protocol buffers. (google/pprof,
//! `proto/profile.proto`.)

use super::calls::Unit;
use super::{ExportError, Options, folded};
use crate::graph::FunctionNames;
use crate::id::FunctionId;
use duckdb::Connection;
use prost::Message;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;

/// What of the format's messages is written; numbers and names are those of `profile.proto`.
mod message {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub r#type: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
    }
}
use message::{Function, Line, Location, Profile, Sample, ValueType};

/// Texts by number; number 0 is the empty one.
struct Strings {
    numbers: HashMap<String, i64>,
    list: Vec<String>,
}

impl Strings {
    fn new() -> Strings {
        Strings { numbers: HashMap::from([(String::new(), 0)]), list: vec![String::new()] }
    }

    fn number(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = i64::try_from(self.list.len()).unwrap_or(0);
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A profile is written in parts: messages that follow one another are one message with the
/// elements of all, so that no more than a part is in memory.
pub fn write(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let (stacks, unit) = folded::stacks(connection, "a profile")?;
    let names = FunctionNames::read(connection)?;
    let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    let mut put = |part: Profile| out.write_all(&part.encode_to_vec());
    let mut strings = Strings::new();
    let cost = if unit == Unit::Steps { "steps" } else { "ticks" };
    let count = |strings: &mut Strings, name: &str| ValueType {
        r#type: strings.number(name),
        unit: strings.number("count"),
    };
    put(Profile {
        sample_type: vec![count(&mut strings, "calls"), count(&mut strings, cost)],
        default_sample_type: strings.number(cost),
        ..Profile::default()
    })?;
    let mut used: BTreeSet<FunctionId> = BTreeSet::new();
    for (i, stack) in stacks.iter().enumerate() {
        let mut sample = Sample { location_id: Vec::new(), value: vec![stack.calls, stack.own] };
        let mut at = Some(i);
        while let Some(i) = at {
            sample.location_id.push(stacks[i].function_id.get().into());
            used.insert(stacks[i].function_id);
            at = stacks[i].parent;
        }
        put(Profile { sample: vec![sample], ..Profile::default() })?;
    }
    // A function has one location, of the same number.
    for function_id in used {
        let id = u64::from(function_id.get());
        let file = names.get(function_id).and_then(|f| f.file.as_deref()).unwrap_or_default();
        let name = strings.number(names.name(function_id));
        let function = Function { id, name, filename: strings.number(file) };
        let location = Location { id, line: vec![Line { function_id: id }] };
        put(Profile {
            location: vec![location],
            function: vec![function],
            ..Profile::default()
        })?;
    }
    put(Profile { string_table: strings.list, ..Profile::default() })?;
    out.finish()?;
    Ok(())
}
