use super::*;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

/// The thread count is global, and a region is only threaded if no other runs.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[test]
fn every_tile_runs_exactly_once_for_any_thread_count() {
    let _alone = alone();
    for n in [1, 2, 3, 7] {
        set_threads(n);
        for tiles in [0, 1, 2, 3, 10, 1000] {
            let counts: Vec<AtomicU32> = (0..tiles).map(|_| AtomicU32::new(0)).collect();
            for_each_tile(tiles, &|tile| {
                counts[tile].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.into_iter().all(|count| count.into_inner() == 1), "{n} threads, {tiles} tiles");
        }
    }
}

#[test]
fn thousands_of_short_regions_do_not_lose_tiles() {
    let _alone = alone();
    for n in [2, 3, 7] {
        set_threads(n);
        for round in 0..3000usize {
            let sum = AtomicUsize::new(0);
            for_each_tile(8, &|tile| {
                sum.fetch_add(tile + round, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 28 + 8 * round);
            if round % 1000 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }
}

#[test]
fn several_threads_take_part() {
    let _alone = alone();
    set_threads(3);
    let ids = Mutex::new(std::collections::HashSet::new());
    // A region that overlaps one of another test runs inline, so a single attempt may see only one thread.
    for _ in 0..100 {
        for_each_tile(6, &|_| {
            ids.lock().unwrap().insert(std::thread::current().id());
            std::thread::sleep(std::time::Duration::from_millis(20));
        });
        if ids.lock().unwrap().len() >= 2 {
            return;
        }
    }
    panic!("600 tiles of 20 ms were all taken by one thread");
}

#[test]
fn a_region_inside_a_region_runs_inline() {
    let _alone = alone();
    set_threads(3);
    let total = AtomicUsize::new(0);
    for_each_tile(8, &|_| {
        let caller = std::thread::current().id();
        for_each_tile(5, &|_| {
            assert_eq!(std::thread::current().id(), caller);
            total.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(total.into_inner(), 40);
}

#[test]
fn regions_from_several_threads_at_once_all_finish() {
    let _alone = alone();
    set_threads(3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let sum = AtomicUsize::new(0);
                    for_each_tile(16, &|tile| {
                        sum.fetch_add(tile, Ordering::Relaxed);
                    });
                    assert_eq!(sum.into_inner(), 120);
                }
            });
        }
    });
}

#[test]
fn a_panic_in_a_tile_reaches_the_caller_after_all_tiles_and_the_pool_keeps_working() {
    let _alone = alone();
    for n in [1, 2, 3, 7] {
        set_threads(n);
        for _ in 0..20 {
            let ended = AtomicUsize::new(0);
            let panic = catch_unwind(AssertUnwindSafe(|| {
                for_each_tile(9, &|tile| {
                    ended.fetch_add(1, Ordering::Relaxed);
                    if tile == 4 {
                        resume_unwind(Box::new("tile four"));
                    }
                });
            }))
            .unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"tile four"));
            assert_eq!(ended.into_inner(), 9);
        }
        let sum = AtomicUsize::new(0);
        for_each_tile(4, &|tile| {
            sum.fetch_add(tile, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 6);
    }
}

#[test]
fn chunks_cover_the_slice_in_order() {
    let _alone = alone();
    set_threads(3);
    let mut out = vec![usize::MAX; 1003];
    for_each_chunk(&mut out, 10, &|index, chunk| {
        for (i, value) in chunk.iter_mut().enumerate() {
            *value = index * 10 + i;
        }
    });
    assert!(out.iter().enumerate().all(|(i, &value)| i == value));
}

/// Dropping a panic payload may itself panic: one payload reaches the caller, and the others neither end the region early nor kill a
/// worker.
#[test]
fn panics_whose_payloads_panic_when_they_are_dropped() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a payload is dropped");
        }
    }
    let _alone = alone();
    for threads in [1, 4] {
        set_threads(threads);
        let ended = AtomicUsize::new(0);
        let tile = |_| {
            ended.fetch_add(1, Ordering::Relaxed);
            std::panic::panic_any(Payload);
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| for_each_tile(16, &tile)));
        std::mem::forget(outcome.unwrap_err().downcast::<Payload>().expect("the first panic"));
        assert_eq!(ended.into_inner(), 16);
    }
}
