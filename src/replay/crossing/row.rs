//! A communication.

/// A kind of communications.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) is_register: bool,
    pub(super) bytes: u64,
}

/// A row of `communication_row`.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) read_seq: i64,
    pub(super) write_seq: Option<i64>,
    pub(super) kind: Kind,
    pub(super) address: u64,
}

/// Puts rows into the order of their reads, which they nearly have: each is a few places from its own.
/// Sorting by runs would take several times as long.
pub(super) fn in_order(rows: &mut [Row]) {
    // What a hostile database may cost at most.
    let mut left = 8 * rows.len();
    for i in 1..rows.len() {
        let row = rows[i];
        let mut at = i;
        while at > 0 && rows[at - 1].read_seq > row.read_seq {
            rows[at] = rows[at - 1];
            at -= 1;
        }
        rows[at] = row;
        left = left.saturating_sub(i - at);
        if left == 0 {
            return rows.sort_by_key(|row| row.read_seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_the_order_of_their_reads() {
        for far in [1, 3, 1000] {
            let kind = Kind { is_register: false, bytes: 1 };
            let row = |i: i64| Row { read_seq: i ^ far, write_seq: Some(i), kind, address: 0 };
            let mut rows: Vec<Row> = (0..5000).map(|i| row(i / 2)).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|row| row.read_seq);
            in_order(&mut rows);
            let key = |rows: &[Row]| -> Vec<_> {
                rows.iter().map(|row| (row.read_seq, row.write_seq)).collect()
            };
            assert_eq!(key(&rows), key(&expected));
        }
    }
}
