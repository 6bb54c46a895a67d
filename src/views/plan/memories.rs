//! What functions wait for memories: accesses are counted, and priced by the user.

use super::run::Run;
use crate::query::each;
use crate::text::visible;
use crate::views::ViewError;
use duckdb::Connection;
use std::collections::BTreeSet;

/// Cycles that an access to a memory takes beyond its step.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCost {
    pub name: String,
    /// Where the program ran.
    pub here: f64,
    /// On the other core, in cycles of this one.
    pub elsewhere: f64,
}

/// `NAME=CYCLES`, or `NAME=CYCLES,CYCLES`: here, and on the other core.
pub fn cost(text: &str) -> Result<MemoryCost, String> {
    let wrong = || "write NAME=CYCLES or NAME=HERE,ELSEWHERE, as in DDR=20 or DDR=20,5".to_owned();
    let (name, cycles) =
        text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let cycles_of = |text: &str| {
        let number = text.trim().parse::<f64>().ok();
        number.filter(|n| n.is_finite() && *n >= 0.0 && *n <= 1e9).ok_or_else(wrong)
    };
    let (here, elsewhere) = match cycles.split_once(',') {
        Some((here, elsewhere)) => (cycles_of(here)?, cycles_of(elsewhere)?),
        None => (cycles_of(cycles)?, cycles_of(cycles)?),
    };
    Ok(MemoryCost { name: name.to_owned(), here, elsewhere })
}

impl Run {
    /// Prices the accesses of each function, of a database that has them as rows.
    ///
    /// # Errors
    /// Where no memory has a name that a price is for.
    pub fn price(
        &mut self,
        connection: &Connection,
        costs: &[MemoryCost],
    ) -> Result<(), ViewError> {
        let mut known = BTreeSet::new();
        each(connection, include_str!("../../../queries/report/memory_traffic.sql"), &[], |r| {
            let (name, function): (String, _) = (r.get(0)?, r.get(4)?);
            let accesses = u64::try_from(r.get::<_, i64>(6)?).unwrap_or(0) as f64;
            if let (Some(cost), Some(at)) =
                (costs.iter().find(|cost| cost.name == name), self.index(function))
            {
                self.functions[at].waits += accesses * cost.here;
                self.functions[at].waits_elsewhere += accesses * cost.elsewhere;
            }
            known.insert(name);
            Ok(())
        })?;
        match costs.iter().find(|cost| !known.contains(&cost.name)) {
            None => Ok(()),
            Some(cost) => {
                let known: Vec<_> = known.iter().map(|name| visible(name)).collect();
                Err(ViewError::NoMemory {
                    name: visible(&cost.name).into(),
                    known: known.join(", "),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_has_a_name_and_cycles() {
        let of =
            |name: &str, here, elsewhere| Ok(MemoryCost { name: name.into(), here, elsewhere });
        assert_eq!(cost("DDR=20"), of("DDR", 20.0, 20.0));
        assert_eq!(cost("a=b=1.5, 0"), of("a=b", 1.5, 0.0));
        for wrong in ["DDR", "=1", "DDR=", "DDR=-1", "DDR=x", "DDR=1,", "DDR=inf", "DDR=1,2,3"] {
            assert!(cost(wrong).is_err(), "{wrong}");
        }
    }
}
