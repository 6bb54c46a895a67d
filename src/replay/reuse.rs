//! Reuse distance: distinct lines since a line's last access, after Olken: a Fenwick tree over the
//! times of the last accesses.

use rustc_hash::FxHashMap;

#[derive(Default)]
pub(super) struct Order {
    /// Over times: which of them are a line's last access. Sums wrap, differences do not.
    tree: Vec<u32>,
    /// The last time that was given.
    next: usize,
    /// By line: the time of its last access.
    last: FxHashMap<u64, usize>,
}

impl Order {
    fn add(&mut self, mut at: usize, delta: i32) {
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add_signed(delta);
            at += at & at.wrapping_neg();
        }
    }

    fn up_to(&self, mut at: usize) -> u32 {
        let mut sum = 0u32;
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Distinct lines since the last access, None: the first.
    pub(super) fn touch(&mut self, line: u64) -> Option<u32> {
        if self.next + 1 >= self.tree.len() {
            self.renumber();
        }
        self.next += 1;
        let now = self.next;
        let before = self.last.insert(line, now);
        let distance = before.map(|time| {
            // As many lines as the tree's sums can count.
            let since = (self.last.len() as u32).wrapping_sub(self.up_to(time));
            self.add(time, -1);
            since
        });
        self.add(now, 1);
        distance
    }

    /// Times of last accesses from 1 without gaps, in a tree with as much room again.
    fn renumber(&mut self) {
        let mut lines: Vec<(usize, u64)> = self.last.iter().map(|(&l, &t)| (t, l)).collect();
        lines.sort_unstable();
        self.tree = vec![0; (4 * lines.len()).max(1 << 16)];
        self.next = lines.len();
        for (i, (_, line)) in lines.into_iter().enumerate() {
            self.last.insert(line, i + 1);
            self.add(i + 1, 1);
        }
    }
}
