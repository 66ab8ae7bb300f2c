//! Identifiers below a record.

use wengert_core::interp::window::Window;

#[test]
fn pops_newest_first_across_pages_and_gaps() {
    let mut window = Window::below(1_000_000);
    // The boundary of the first page is between the third and the fourth.
    let ids = [1_000_000, 999_999, 999_489, 999_488, 700_000, 3];
    for (place, &id) in ids.iter().enumerate().rev() {
        window.set_pending(id, place);
    }
    assert_eq!(window.pending(999_488), Some(3));
    let order: Vec<usize> = std::iter::from_fn(|| window.pop_newest()).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}
