//! pprof profiles, read by hand.

use super::{databases, export, number, text};
use crate::common::*;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;

/// The fields of a protocol buffer message: number and either a varint or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return n;
            }
        }
    }
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => list.push((key >> 3, varint(&mut bytes), &[][..])),
            2 => {
                let length = varint(&mut bytes) as usize;
                list.push((key >> 3, 0, &bytes[..length]));
                bytes = &bytes[length..];
            }
            other => panic!("wire type {other}"),
        }
    }
    list
}

fn packed(bytes: &[u8]) -> Vec<u64> {
    // Read as fields of a message whose keys are all there: a repeated number is one varint after
    // the other.
    let (mut list, mut n, mut shift) = (Vec::new(), 0u64, 0);
    for &byte in bytes {
        n |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            list.push(std::mem::take(&mut n));
            shift = 0;
        }
    }
    list
}

#[test]
fn pprof_has_the_folded_stacks() {
    let scratch = Scratch::new("export-pprof");
    for db in databases() {
        let file = export(&scratch, &db, "pprof");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&file).unwrap())
            .read_to_end(&mut bytes)
            .expect("gzip");
        let profile = fields(&bytes);
        let strings: Vec<&str> = profile
            .iter()
            .filter(|f| f.0 == 6)
            .map(|f| std::str::from_utf8(f.2).unwrap())
            .collect();
        assert_eq!(strings[0], "");
        let number_of = |message: &[u8], field: u64| {
            fields(message).iter().find(|f| f.0 == field).map_or(0, |f| f.1)
        };
        let types: Vec<&str> = profile
            .iter()
            .filter(|f| f.0 == 1)
            .map(|f| strings[number_of(f.2, 1) as usize])
            .collect();
        assert_eq!(types, ["calls", "steps"]);
        let functions: HashMap<u64, &str> = profile
            .iter()
            .filter(|f| f.0 == 5)
            .map(|f| (number_of(f.2, 1), strings[number_of(f.2, 2) as usize]))
            .collect();
        let locations: HashMap<u64, &str> = profile
            .iter()
            .filter(|f| f.0 == 4)
            .map(|f| {
                let line = fields(f.2).into_iter().find(|f| f.0 == 4).expect("line").2;
                (number_of(f.2, 1), functions[&number_of(line, 1)])
            })
            .collect();
        let (mut stacks, mut calls) = (BTreeMap::new(), 0);
        for sample in profile.iter().filter(|f| f.0 == 2) {
            let parts = fields(sample.2);
            let part = |field: u64| packed(parts.iter().find(|f| f.0 == field).unwrap().2);
            let (ids, values) = (part(1), part(2));
            let names: Vec<String> = ids
                .iter()
                .rev()
                .map(|id| addfg::internals::text::visible(locations[id]).replace(';', ":"))
                .collect();
            calls += values[0];
            if values[1] > 0 {
                stacks.insert(names.join(";"), values[1]);
            }
        }
        let folded: BTreeMap<String, u64> = text(&db, "folded")
            .lines()
            .map(|l| {
                l.rsplit_once(' ').map(|(stack, n)| (stack.to_owned(), n.parse().unwrap())).unwrap()
            })
            .collect();
        assert_eq!(stacks, folded);
        let all = query(&db, "SELECT sum(calls)::BIGINT AS n FROM function_profile_folded");
        assert_eq!(calls as i64, number(&all[0][0]));
    }
}
