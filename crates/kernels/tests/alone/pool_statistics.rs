//! The pool's counters.

use super::turn;
use wengert_kernels::pool::{reset_peak, statistics};
use wengert_kernels::{Block, PoolStatistics};

fn change(before: PoolStatistics, after: PoolStatistics) -> isize {
    after.live_bytes as isize - before.live_bytes as isize
}

#[test]
fn counters_follow_blocks_and_the_cache_stays_bounded() {
    let _turn = turn();
    let start = statistics();
    let small: Vec<Block> = (0..1000).map(|_| Block::new(100)).collect();
    assert_eq!(change(start, statistics()), 128_000);
    drop(small);
    assert_eq!(change(start, statistics()), 0);
    assert!(statistics().cached_bytes >= 128_000);

    reset_peak();
    let large = Block::new(10 << 20);
    drop(large.clone());
    // No byte more: the header does not count.
    assert_eq!(change(start, statistics()), 10 << 20);
    let exact = [Block::new(1 << 20), Block::new(4 << 20)];
    assert_eq!(change(start, statistics()), 15 << 20);
    drop((large, exact));
    reset_peak();
    let large = Block::new(10 << 20);
    drop(large);
    let after = statistics();
    assert_eq!(change(start, after), 0);
    assert!(after.peak_bytes >= after.live_bytes + (10 << 20));
    assert!(after.cached_bytes >= 10 << 20);
    reset_peak();
    assert!(statistics().peak_bytes < 10 << 20);

    // Blocks freed by another thread are counted once they are reported, at the latest when that thread ends.
    let moved: Vec<Block> = (0..100).map(|_| Block::new(1000)).collect();
    std::thread::spawn(move || drop(moved)).join().unwrap();
    assert_eq!(change(start, statistics()), 0);

    // Foreign memory does not belong to the pool.
    let before = statistics();
    let (vector, lent) = (Block::from_vec(vec![1.0; 1 << 17]), Block::from_owner(vec![1.0f32; 1 << 17]));
    assert_eq!(statistics(), before);
    drop((vector, lent));
    assert_eq!(statistics(), before);

    // Untouched pages cost nothing, so three gigabytes can be requested here.
    let many: Vec<Block> = (0..48).map(|_| Block::new((64 << 20) + 1)).collect();
    drop(many);
    let cached = statistics().cached_bytes;
    assert!(cached <= (1 << 30) + (4 << 20), "{cached} bytes cached");
    assert!(cached >= 900 << 20, "{cached} bytes cached");
}
