// Rust: closures, trait objects, a map, sorting, a recursion with slices.
use std::collections::BTreeMap;
trait Shape {
    fn area(&self) -> u32;
}
struct Square(u32);
struct Strip(u32);
impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}
impl Shape for Strip {
    fn area(&self) -> u32 {
        self.0
    }
}
#[inline(never)]
fn halves(list: &mut [u32], f: &mut dyn FnMut(u32)) {
    if let [one] = list {
        *one += 1;
        f(*one);
    } else {
        let (a, b) = list.split_at_mut(list.len() / 2);
        halves(a, f);
        halves(b, f);
    }
}
fn main() {
    let mut list: Vec<u32> = (0..40).map(|i| i * 37 % 41).collect();
    list.sort_unstable_by(|a, b| b.cmp(a));
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    halves(&mut list, &mut |n| *count.entry(format!("{}", n % 5)).or_default() += n);
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(4)), Box::new(Strip(5))];
    let area: u32 = shapes.iter().map(|s| s.area()).sum();
    let sum: u32 = count.values().sum();
    std::process::exit(i32::from(!(area == 21 && sum == list.iter().sum::<u32>())));
}
