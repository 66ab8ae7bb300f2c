use super::*;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, mpsc};

#[test]
fn data_is_aligned_and_as_long_as_asked_for_every_size() {
    for bytes in (0..5000).chain([32768, 32769, 100_000, 3 << 20, 5 << 20, (5 << 20) + 1]) {
        let mut block = Block::new(bytes);
        assert_eq!(block.len(), bytes);
        assert_eq!(block.bytes().as_ptr() as usize % 64, 0);
        block.bytes_mut().unwrap().fill(0xa5);
        assert!(block.bytes().iter().all(|&byte| byte == 0xa5));
    }
}

#[test]
fn blocks_in_use_never_overlap() {
    let mut blocks: Vec<(Block, u8)> = Vec::new();
    let mut state = 1u32;
    for round in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let bytes = 1 + (state >> 8) as usize % if round % 50 == 0 { 200_000 } else { 3000 };
        let mut block = Block::new(bytes);
        let mark = (state >> 24) as u8;
        block.bytes_mut().unwrap().fill(mark);
        blocks.push((block, mark));
        if blocks.len() > 200 {
            let (block, mark) = blocks.swap_remove((state >> 4) as usize % 200);
            assert!(block.bytes().iter().all(|&byte| byte == mark));
        }
    }
}

#[test]
fn a_dropped_block_is_used_again() {
    let first = Block::new(1000);
    let address = first.bytes().as_ptr();
    drop(first);
    assert_eq!(Block::new(1000).bytes().as_ptr(), address);
    let first = Block::new(7 << 20);
    let address = first.bytes().as_ptr();
    drop(first);
    assert_eq!(Block::new((7 << 20) - 1000).bytes().as_ptr(), address);
}

#[test]
fn sharing_blocks_writing_and_the_last_drop_allows_it_again() {
    let mut block = Block::new(64);
    let other = block.clone();
    assert!(block.same(&other) && !block.is_unique());
    assert!(block.bytes_mut().is_none() && block.as_mut_slice::<f32>().is_none());
    drop(other);
    assert!(block.bytes_mut().is_some());
}

#[test]
fn blocks_travel_between_threads_that_allocate_and_threads_that_free() {
    let (sender, receiver) = mpsc::channel::<(Block, u8)>();
    let receiver = std::sync::Mutex::new(receiver);
    std::thread::scope(|scope| {
        for seed in 0..3u8 {
            let sender = sender.clone();
            scope.spawn(move || {
                for round in 0..5000usize {
                    let mut block = Block::new(8 + (round * 37) % 2000 + if round % 500 == 0 { 1 << 20 } else { 0 });
                    let mark = seed.wrapping_add(round as u8);
                    block.bytes_mut().unwrap().fill(mark);
                    sender.send((block.clone(), mark)).unwrap();
                    assert_eq!(block.bytes()[0], mark);
                }
            });
        }
        drop(sender);
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let message = receiver.lock().unwrap().recv();
                    let Ok((block, mark)) = message else { break };
                    assert!(block.bytes().iter().all(|&byte| byte == mark));
                }
            });
        }
    });
}

#[test]
fn blocks_can_be_dropped_while_their_thread_ends() {
    struct Keeper(#[allow(dead_code)] std::cell::RefCell<Vec<Block>>);
    impl Drop for Keeper {
        fn drop(&mut self) {
            self.0.borrow_mut().push(Block::new(48));
        }
    }
    thread_local! { static KEEPER: Keeper = const { Keeper(std::cell::RefCell::new(Vec::new())) }; }
    for _ in 0..4 {
        std::thread::spawn(|| {
            // Registered before the pool's own lists, so it is dropped after them.
            KEEPER.with(|keeper| {
                let mut blocks = keeper.0.borrow_mut();
                blocks.extend((0..500).map(|i| Block::new(i * 10)));
            });
        })
        .join()
        .unwrap();
    }
}

#[test]
fn running_out_of_memory_names_the_bytes() {
    for bytes in [usize::MAX, usize::MAX / 2, 1 << 60, 1 << 45] {
        let panic = std::panic::catch_unwind(|| Block::new(bytes)).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains(&bytes.to_string()), "{message}");
        assert_eq!(attempt(|| Block::new(bytes)).unwrap_err().bytes, bytes);
    }
}

#[test]
fn running_out_of_memory_on_another_thread_is_told_by_the_caller() {
    let tile = |index: usize| {
        if index % 3 == 2 {
            Block::new(1 << 60);
        }
    };
    let refused = attempt(|| crate::for_each_tile(64, &tile)).unwrap_err();
    assert_eq!(refused.bytes, 1 << 60);
    let panic = std::panic::catch_unwind(|| crate::for_each_tile(64, &tile)).unwrap_err();
    assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains(&(1usize << 60).to_string())));
}

/// Numbers stored in the owner itself, which counts how often it is dropped.
struct Lender {
    numbers: [f32; 5],
    from: usize,
    drops: Arc<AtomicUsize>,
}

impl AsRef<[f32]> for Lender {
    fn as_ref(&self) -> &[f32] {
        &self.numbers[self.from..]
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_owner_is_dropped_once_with_the_last_reference_on_any_thread() {
    let drops = Arc::new(AtomicUsize::new(0));
    let block = Block::from_owner(Lender { numbers: [1.0, 2.0, 3.0, 4.0, 5.0], from: 1, drops: drops.clone() });
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let block = block.clone();
            std::thread::spawn(move || assert_eq!(block.as_slice::<f32>(), [2.0, 3.0, 4.0, 5.0]))
        })
        .collect();
    let last = block.clone();
    drop(block);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((drops.load(Ordering::Relaxed), last.as_slice::<f32>()), (0, &[2.0, 3.0, 4.0, 5.0][..]));
    drop(last);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn an_owner_that_panics_when_asked_is_dropped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let lender = Lender { numbers: [0.0; 5], from: 6, drops: drops.clone() };
    assert!(std::panic::catch_unwind(move || Block::from_owner(lender)).is_err());
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn owners_of_any_alignment_and_nothing_at_all_are_held() {
    #[repr(align(256))]
    struct Far([u8; 3]);
    impl AsRef<[u8]> for Far {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    assert_eq!(Block::from_owner(Far([7, 8, 9])).bytes(), [7, 8, 9]);
    assert!(Block::from_owner(Vec::<f64>::new()).as_slice::<f64>().is_empty());
    let mut nothing = Block::from_vec(Vec::<f64>::with_capacity(9));
    assert!(nothing.as_mut_slice::<f64>().unwrap().is_empty());
}

#[test]
fn memory_of_others_is_never_written_and_a_vector_only_where_nobody_else_looks() {
    let numbers: Arc<[f64]> = Arc::from([1.0, 2.0]);
    assert!(Block::from_owner(numbers).bytes_mut().is_none());
    let mut vector = Block::from_vec(vec![true, false]);
    let other = vector.clone();
    assert!(vector.bytes_mut().is_none());
    drop(other);
    // No longer a `bool`: the vector's elements are bytes now.
    vector.bytes_mut().unwrap().fill(0xa5);
}

#[test]
#[should_panic(expected = "shared block")]
fn a_shared_block_gets_no_label() {
    let block = Block::from_vec(vec![1.0]);
    let _other = block.clone();
    block.with_label(1, [0; 3]);
}
