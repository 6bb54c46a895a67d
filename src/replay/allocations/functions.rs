//! Which functions allocate, and what their arguments mean.

/// What a call of an allocation function does, by the numbers of its arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocator {
    pub name: &'static str,
    /// How many bytes it is asked for, times what.
    pub(super) bytes: Option<(u8, Option<u8>)>,
    /// The allocation that it takes back.
    pub(super) released: Option<u8>,
    /// Where it stores the address, instead of returning it.
    pub(super) through: Option<u8>,
}

const fn gives(
    name: &'static str,
    bytes: u8,
    times: Option<u8>,
    released: Option<u8>,
) -> Allocator {
    Allocator { name, bytes: Some((bytes, times)), released, through: None }
}

const fn takes(name: &'static str, released: u8) -> Allocator {
    Allocator { name, bytes: None, released: Some(released), through: None }
}

/// C's, and newlib's with the reentrancy structure as the first argument.
static C: [Allocator; 18] = [
    gives("malloc", 0, None, None),
    gives("calloc", 0, Some(1), None),
    gives("realloc", 1, None, Some(0)),
    gives("reallocarray", 1, Some(2), Some(0)),
    gives("memalign", 1, None, None),
    gives("aligned_alloc", 1, None, None),
    Allocator { name: "posix_memalign", bytes: Some((2, None)), released: None, through: Some(0) },
    gives("valloc", 0, None, None),
    gives("pvalloc", 0, None, None),
    takes("free", 0),
    takes("cfree", 0),
    takes("free_sized", 0),
    takes("free_aligned_sized", 0),
    gives("_malloc_r", 1, None, None),
    gives("_calloc_r", 1, Some(2), None),
    gives("_realloc_r", 2, None, Some(1)),
    gives("_memalign_r", 2, None, None),
    takes("_free_r", 1),
];

/// C++'s by the beginning of the mangled name, and what may follow it. Placement new (`_ZnwmPv`)
/// allocates nothing.
static CXX: [(&[&str], Allocator); 4] = [
    (&["_Znwm", "_Znwj"], gives("operator new", 0, None, None)),
    (&["_Znam", "_Znaj"], gives("operator new[]", 0, None, None)),
    (&["_ZdlPv"], takes("operator delete", 0)),
    (&["_ZdaPv"], takes("operator delete[]", 0)),
];
const CXX_MORE: [&str; 10] = [
    "",
    "m",
    "j",
    "RKSt9nothrow_t",
    "St11align_val_t",
    "St11align_val_tRKSt9nothrow_t",
    "mSt11align_val_t",
    "jSt11align_val_t",
    "mSt11align_val_tRKSt9nothrow_t",
    "jSt11align_val_tRKSt9nothrow_t",
];

/// The allocation function of a name in a symbol table: `malloc`, `__libc_malloc`,
/// `__GI___libc_malloc`, `malloc@plt`, `_Znwm`.
pub fn allocator(symbol: &str) -> Option<&'static Allocator> {
    let name = symbol.split('@').next().unwrap_or_default();
    for (begins, allocator) in &CXX {
        let rest = begins.iter().find_map(|b| name.strip_prefix(b));
        if rest.is_some_and(|r| CXX_MORE.contains(&r)) {
            return Some(allocator);
        }
    }
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    let plain = name.strip_prefix("__libc_").unwrap_or(name);
    let plain = plain.strip_prefix("__").unwrap_or(plain);
    C.iter().find(|a| a.name == name || a.name == plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_allocation_functions() {
        let name = |symbol| allocator(symbol).map(|a| a.name);
        for (symbol, expected) in [
            ("malloc", "malloc"),
            ("__libc_malloc", "malloc"),
            ("__GI___libc_malloc", "malloc"),
            ("__malloc", "malloc"),
            ("malloc@plt", "malloc"),
            ("__libc_free", "free"),
            ("__posix_memalign", "posix_memalign"),
            ("_malloc_r", "_malloc_r"),
            ("_Znwm", "operator new"),
            ("_Znwj", "operator new"),
            ("_ZnamRKSt9nothrow_t", "operator new[]"),
            ("_ZnwmSt11align_val_t@plt", "operator new"),
            ("_ZdlPv", "operator delete"),
            ("_ZdlPvm", "operator delete"),
            ("_ZdaPvmSt11align_val_t", "operator delete[]"),
        ] {
            assert_eq!(name(symbol), Some(expected), "{symbol}");
        }
        for symbol in [
            "_ZnwmPv",
            "_ZdlPvS_",
            "_int_malloc",
            "xmalloc",
            "mymalloc",
            "free_list",
            "",
            "malloc_consolidate",
            "malloc_r",
        ] {
            assert_eq!(name(symbol), None, "{symbol}");
        }
    }
}
