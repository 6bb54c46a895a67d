//! Functions of formats that name them, with or without an ELF file that has them, too.

use super::BuildError;
use super::dictionary::Files;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use duckdb::{Connection, params};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone)]
enum Row {
    Symbol(FunctionRef),
    /// A name of the trace that no ELF file has, and the source file that the trace says.
    Named {
        name: String,
        file: Option<String>,
    },
    /// Code outside every symbol, by image.
    Unknown(Option<usize>),
}

/// Rows of `function_symbol`, numbered from 1 as they are asked for.
pub struct FunctionNames<'a> {
    space: &'a AddressSpace,
    rows: Vec<Row>,
    symbols: FxHashMap<FunctionRef, i32>,
    /// By name and whatever else tells functions of one name apart.
    named: FxHashMap<(String, Option<String>), i32>,
    unknown: FxHashMap<Option<usize>, i32>,
}

impl<'a> FunctionNames<'a> {
    pub fn new(space: &'a AddressSpace) -> Self {
        FunctionNames {
            space,
            rows: Vec::new(),
            symbols: FxHashMap::default(),
            named: FxHashMap::default(),
            unknown: FxHashMap::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A function of an ELF file.
    pub fn symbol(&mut self, at: FunctionRef) -> i32 {
        let rows = &mut self.rows;
        *self.symbols.entry(at).or_insert_with(|| {
            rows.push(Row::Symbol(at));
            rows.len() as i32
        })
    }

    /// A function that only the trace has; one name in two files is two functions.
    pub fn named(&mut self, name: &str, file: Option<&str>) -> i32 {
        let key = (name.to_owned(), file.map(str::to_owned));
        let rows = &mut self.rows;
        *self.named.entry(key).or_insert_with_key(|(name, file)| {
            rows.push(Row::Named { name: name.clone(), file: file.clone() });
            rows.len() as i32
        })
    }

    /// One more function of this name that only the trace has.
    pub fn another(&mut self, name: &str) -> i32 {
        self.rows.push(Row::Named { name: name.to_owned(), file: None });
        self.rows.len() as i32
    }

    /// Code of an image, or of none, outside every symbol.
    pub fn unknown(&mut self, image: Option<usize>) -> i32 {
        let rows = &mut self.rows;
        *self.unknown.entry(image).or_insert_with(|| {
            rows.push(Row::Unknown(image));
            rows.len() as i32
        })
    }

    /// Fills `function_symbol` and `function_name`: these functions, then the other symbols. Gives
    /// their number.
    pub fn write(&self, connection: &Connection, files: &mut Files) -> Result<usize, BuildError> {
        let mut table = connection.appender("function_symbol")?;
        let mut names = connection.appender("function_name")?;
        let rest =
            self.space.functions().filter(|at| !self.symbols.contains_key(at)).map(Row::Symbol);
        let mut taken: FxHashSet<String> =
            self.space.functions().map(|at| self.space.display_name(at).to_owned()).collect();
        let mut number = 0i32;
        for row in self
            .rows
            .iter()
            .map(std::borrow::Cow::Borrowed)
            .chain(rest.map(std::borrow::Cow::Owned))
        {
            number += 1;
            match row.as_ref() {
                Row::Symbol(at) => {
                    let f = self.space.function(*at);
                    let size: u64 = f.ranges.iter().map(|(a, b)| b - a).sum();
                    let kind = if f.kind == FunctionKind::Stub { "stub" } else { "function" };
                    let file = f.file.as_deref().map(|f| files.id(f));
                    let (shown, entry, image) =
                        (self.space.display_name(*at), self.space.entry(*at), at.image as i32 + 1);
                    table.append_row(params![
                        number,
                        shown,
                        f.names.first(),
                        kind,
                        image,
                        file,
                        entry,
                        size
                    ])?;
                    for name in &f.names {
                        names.append_row(params![number, name])?;
                    }
                }
                Row::Named { name, file } => {
                    let base = file.as_deref().map(|f| f.rsplit(['/', '\\']).next().unwrap_or(f));
                    let more = base.map(|b| format!("{name} ({b})")).into_iter();
                    let more = more.chain((2u64..).map(|n| format!("{name} #{n}")));
                    let shown = std::iter::once(name.clone())
                        .chain(more)
                        .find(|n| !taken.contains(n))
                        .unwrap_or_default();
                    let file = file.as_deref().map(|f| files.id(f));
                    let (image, address, size) = (None::<i32>, None::<u64>, None::<u64>);
                    table.append_row(params![
                        number, shown, name, "function", image, file, address, size
                    ])?;
                    names.append_row(params![number, name])?;
                    taken.insert(shown);
                }
                Row::Unknown(image) => {
                    let base = image.map(|i| {
                        let path = &self.space.images()[i].image.path;
                        path.file_name().map_or_else(
                            || path.display().to_string(),
                            |n| n.to_string_lossy().into_owned(),
                        )
                    });
                    let shown = base.map_or("<unknown>".to_owned(), |b| format!("<unknown {b}>"));
                    let image = image.map(|i| i as i32 + 1);
                    let (name, file, address, size) =
                        (None::<String>, None::<i32>, None::<u64>, None::<u64>);
                    table.append_row(params![
                        number, shown, name, "unknown", image, file, address, size
                    ])?;
                }
            }
        }
        table.flush()?;
        names.flush()?;
        Ok(number as usize)
    }
}
