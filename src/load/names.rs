//! Functions numbered as they are met, whether an ELF file has them or only the trace.

use super::dictionary::Files;
use super::symbols::{self, Symbol, SymbolKind};
use crate::id::{FunctionId, ImageId};
use crate::image::{AddressSpace, FunctionRef, Owner};
use crate::store::StoreError;
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a function is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Known {
    Symbol(FunctionRef),
    /// A name of the trace that no ELF file has, and the source file that the trace says; how many
    /// of them were met before, if one name is many functions.
    Named {
        name: String,
        file: Option<String>,
        number: usize,
    },
    /// Code outside every symbol, by index of the image.
    Unknown(Option<usize>),
    /// A place outside every symbol.
    Place(usize, u64),
    /// A number that no ELF file has a function for.
    Number(u32),
    /// Code that the kernel puts into a process.
    KernelHelper,
    /// Who wrote what no step wrote, by its name.
    Pseudo(String),
}

/// Rows of `function_symbol`, numbered from 1 as they are asked for.
#[derive(Clone, Default)]
pub struct FunctionNames {
    rows: Vec<Known>,
    /// Apart from `others`, because it is asked most.
    symbols: FxHashMap<FunctionRef, FunctionId>,
    others: FxHashMap<Known, FunctionId>,
}

impl FunctionNames {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// No function of an ELF file was met.
    pub fn without_symbols(&self) -> bool {
        self.symbols.is_empty()
    }

    /// A function of an ELF file.
    pub fn symbol(&mut self, at: FunctionRef) -> FunctionId {
        let rows = &mut self.rows;
        *self.symbols.entry(at).or_insert_with(|| {
            rows.push(Known::Symbol(at));
            FunctionId::at(rows.len() - 1)
        })
    }

    fn other(&mut self, known: Known) -> FunctionId {
        if let Some(&id) = self.others.get(&known) {
            return id;
        }
        self.rows.push(known.clone());
        let id = FunctionId::at(self.rows.len() - 1);
        self.others.insert(known, id);
        id
    }

    /// A function that only the trace has; one name in two files is two functions.
    pub fn named(&mut self, name: &str, file: Option<&str>) -> FunctionId {
        self.other(Known::Named { name: name.to_owned(), file: file.map(str::to_owned), number: 0 })
    }

    /// One more function of this name that only the trace has.
    pub fn another(&mut self, name: &str) -> FunctionId {
        let number = self.rows.len() + 1;
        self.other(Known::Named { name: name.to_owned(), file: None, number })
    }

    /// Code of an image, or of none, outside every symbol.
    pub fn unknown(&mut self, image: Option<usize>) -> FunctionId {
        self.other(Known::Unknown(image))
    }

    /// Whether a function is but code outside every symbol.
    pub fn is_unknown(&self, function: FunctionId) -> bool {
        matches!(self.rows.get(function.index()), Some(Known::Unknown(_)))
    }

    /// The name of a function of an ELF file.
    pub fn of_symbol<'s>(&self, space: &'s AddressSpace, function: FunctionId) -> Option<&'s str> {
        match self.rows.get(function.index()) {
            Some(Known::Symbol(at)) => Some(space.display_name(*at)),
            _ => None,
        }
    }

    /// A function that begins at a place of an image outside every symbol.
    pub fn place(&mut self, image: usize, address: u64) -> FunctionId {
        self.other(Known::Place(image, address))
    }

    /// A function of which the trace has a number only.
    pub fn number(&mut self, number: u32) -> FunctionId {
        self.other(Known::Number(number))
    }

    pub fn kernel_helper(&mut self) -> FunctionId {
        self.other(Known::KernelHelper)
    }

    pub fn pseudo(&mut self, name: String) -> FunctionId {
        self.other(Known::Pseudo(name))
    }

    /// The functions of another list, by their places there, as this one has them. `image`: the image of this list that
    /// one of the other's is.
    pub fn counterparts(
        &self,
        others: &FunctionNames,
        image: impl Fn(usize) -> Option<usize>,
    ) -> Vec<Option<FunctionId>> {
        let own = |known: &Known| {
            let known = match known {
                Known::Symbol(at) => {
                    let at = FunctionRef { image: image(at.image)?, ..*at };
                    return self.symbols.get(&at).copied();
                }
                Known::Unknown(Some(at)) => Known::Unknown(Some(image(*at)?)),
                Known::Place(at, address) => Known::Place(image(*at)?, *address),
                other => other.clone(),
            };
            self.others.get(&known).copied()
        };
        others.rows.iter().map(own).collect()
    }

    /// What a function is shown as, and where it begins, if that is known.
    pub fn shown(&self, space: &AddressSpace, function: FunctionId) -> (String, Option<u64>) {
        let Some(known) = self.rows.get(function.index()) else { return Default::default() };
        let symbol = row(space, known, &mut FxHashSet::default());
        (symbol.shown.into_owned(), symbol.address)
    }

    /// What a function is shown as, its source file, and whether it is nobody's code.
    pub fn described(
        &self,
        space: &AddressSpace,
        function: FunctionId,
    ) -> (String, Option<String>, bool) {
        let Some(known) = self.rows.get(function.index()) else { return Default::default() };
        let symbol = row(space, known, &mut FxHashSet::default());
        let is_pseudo = matches!(known, Known::Pseudo(_));
        (symbol.shown.into_owned(), symbol.file.map(str::to_owned), is_pseudo)
    }

    /// Fills `function_symbol` and `function_name`: these functions, then the other symbols. Gives
    /// whose code each is.
    pub fn write(
        &self,
        space: &AddressSpace,
        connection: &Connection,
        files: &mut Files,
    ) -> Result<Vec<Option<Owner>>, StoreError> {
        let mut taken: FxHashSet<String> = FxHashSet::default();
        if self.rows.iter().any(|row| matches!(row, Known::Named { .. })) {
            taken.extend(space.functions().map(|at| space.display_name(at).to_owned()));
        }
        let met = self.rows.iter().map(|known| row(space, known, &mut taken));
        let rest = space.functions().filter(|at| !self.symbols.contains_key(at));
        let rest = rest.map(|at| Symbol::of(space, at));
        symbols::write(connection, files, met.chain(rest))
    }
}

/// A function as the database shows it.
fn row<'s>(space: &'s AddressSpace, known: &'s Known, taken: &mut FxHashSet<String>) -> Symbol<'s> {
    let outside = |shown: String, image: Option<usize>| Symbol {
        image: image.map(ImageId::at),
        owner: Some(image.map_or(Owner::Program, |i| space.image_owner(i))),
        ..Symbol::made_up(shown, SymbolKind::Unknown)
    };
    match known {
        Known::Symbol(at) => Symbol::of(space, *at),
        Known::Named { name, file, .. } => Symbol {
            names: vec![name],
            file: file.as_deref(),
            ..Symbol::made_up(unique(name, file.as_deref(), taken), SymbolKind::Function)
        },
        Known::Unknown(None) => outside("<unknown>".into(), None),
        Known::Unknown(Some(i)) => outside(format!("<unknown {}>", space.image_name(*i)), Some(*i)),
        Known::Place(image, address) => Symbol {
            address: Some(*address),
            ..outside(format!("<unknown {} @{address:#x}>", space.image_name(*image)), Some(*image))
        },
        Known::Number(number) => outside(format!("<function {number}>"), None),
        Known::KernelHelper => Symbol::made_up("<kernel helper>", SymbolKind::KernelHelper),
        Known::Pseudo(name) => Symbol::made_up(name.as_str(), SymbolKind::Pseudo),
    }
}

/// The name, if need be with its file or a number, so that no other function is shown by it.
fn unique(name: &str, file: Option<&str>, taken: &mut FxHashSet<String>) -> String {
    let base = file.map(|f| f.rsplit(['/', '\\']).next().unwrap_or(f));
    let with_file = base.map(|b| format!("{name} ({b})"));
    let numbered = (2u64..).map(|n| format!("{name} #{n}"));
    let mut names = std::iter::once(name.to_owned()).chain(with_file).chain(numbered);
    let shown = names.find(|n| !taken.contains(n)).unwrap_or_default();
    taken.insert(shown.clone());
    shown
}
