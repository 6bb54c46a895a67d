//! Code as it is known across runs: what linker and loader put into instructions is left out, so that
//! only other code has another hash.

use super::error::LakeError;
use crate::event::Isa;
use crate::isa::x86;
use duckdb::{Connection, params};
use std::ops::Range;

/// Addresses below are offsets and sizes, too: they tell nothing of an image.
const LEAST: u64 = 0x1000;

/// Makes the temporary table `lake_code`: of each instruction its bytes in hexadecimal digits, those
/// of relocations as zeros; of other instruction sets than x86, where a number of it is an address of
/// an image, its text without that.
pub fn prepare(connection: &Connection) -> Result<(), LakeError> {
    connection
        .execute_batch("CREATE TEMP TABLE lake_code (instruction_id INTEGER, code VARCHAR)")?;
    let sql = "SELECT max(value) FILTER (key = 'isa') FROM meta";
    let isa = connection.query_row(sql, [], |r| r.get::<_, Option<String>>(0))?;
    let isa = match isa.as_deref() {
        Some("x86_64") => Some(Isa::X86_64),
        Some("x86") => Some(Isa::X86),
        _ => None,
    };
    let images = images(connection)?;
    let is_image = |address: u64| {
        let after = images.partition_point(|range| range.start <= address);
        address >= LEAST && after > 0 && images[after - 1].contains(&address)
    };
    let mut statement = connection.prepare(
        "SELECT i.instruction_id, i.address, i.opcode, coalesce(i.text, ''), i.target, coalesce(f.address, 0), coalesce(f.size, 0)
         FROM instruction i LEFT JOIN function_symbol f USING (function_id) WHERE i.opcode IS NOT NULL",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, address, bytes): (i32, u64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (text, target): (String, Option<u64>) = (row.get(3)?, row.get(4)?);
        let (start, size): (u64, u64) = (row.get(5)?, row.get(6)?);
        let inside = start..start.saturating_add(size);
        let code = match isa {
            Some(isa) => hexadecimal(&x86::masked(isa, address, &bytes, &inside, is_image)),
            None => {
                let stays = target.is_some_and(|target| inside.contains(&target));
                let plain = if stays { None } else { without_addresses(&text, is_image) };
                plain.unwrap_or_else(|| hexadecimal(&bytes))
            }
        };
        found.push((id, code));
    }
    let mut table = connection.appender_to_catalog_and_db("lake_code", "temp", "main")?;
    for (id, code) in &found {
        table.append_row(params![id, code])?;
    }
    table.flush()?;
    Ok(())
}

/// Where images are loaded, by address.
fn images(connection: &Connection) -> Result<Vec<Range<u64>>, LakeError> {
    let sql = "SELECT address, size FROM section WHERE size > 0 ORDER BY address";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |r| {
        let (start, size): (u64, u64) = (r.get(0)?, r.get(1)?);
        Ok(start..start.saturating_add(size))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text with `#` for numbers that are addresses of an image; None where none is.
fn without_addresses(text: &str, is_image: impl Fn(u64) -> bool) -> Option<String> {
    let (mut out, mut rest, mut any) = (String::new(), text, false);
    while let Some(at) = rest.find("0x").or_else(|| rest.find("0X")) {
        let (before, number) = rest.split_at(at);
        let digits = &number[2..];
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let is = u64::from_str_radix(&digits[..end], 16).is_ok_and(&is_image);
        out.push_str(before);
        out.push_str(if is { "#" } else { &number[..2 + end] });
        (rest, any) = (&digits[end..], any || is);
    }
    out.push_str(rest);
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_images_are_left_out() {
        let is_image = |address| (0x400000..0x500000).contains(&address);
        let text = |text| without_addresses(text, is_image);
        assert_eq!(text("bl 0x4004F0"), Some("bl #".into()));
        assert_eq!(text("adrp x0,0x410000"), Some("adrp x0,#".into()));
        assert_eq!(text("add x0,x0,#0x10"), None);
    }
}
