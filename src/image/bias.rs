use super::Image;
pub fn guess_bias(image: &Image, executed: &[u64]) -> Option<u64> {
    let _ = executed;
    (!image.pie).then_some(0)
}
