//! The protocol between the caller of a region and the workers.
//!
//! One word holds the state: `epoch (32 bits) | OPEN | WAITING | workers inside`. The caller writes the job, then opens the region by
//! storing a new epoch. A worker enters by incrementing the count with a compare-exchange of the whole word, so it can only enter the epoch
//! it saw, while that is open. The caller claims tiles too. When none are left it closes the region and waits for the count to reach zero.
//! After that no worker can access the job, so it is safe to return, and to overwrite the job.
//!
//! The caller never waits for a worker to wake up: a worker that comes late finds the region closed.

use super::{Payload, keep_first, threads};
use crate::pool;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

const OPEN: u64 = 1 << 31;
const WAITING: u64 = 1 << 30;
const INSIDE: u64 = WAITING - 1;

/// The number of spins before an idle worker, or a caller without tiles, goes to sleep: a few microseconds.
const WORKER_SPINS: usize = 100;
const CALLER_SPINS: usize = 200;

/// Puts words that different threads write on separate cache lines.
#[repr(align(128))]
struct Apart<T>(T);

static STATE: Apart<AtomicU64> = Apart(AtomicU64::new(0));
/// The next unclaimed tile.
static NEXT: Apart<AtomicUsize> = Apart(AtomicUsize::new(0));
/// Held by the caller of the running region.
static BUSY: Apart<AtomicBool> = Apart(AtomicBool::new(false));
static SLEEPERS: Apart<AtomicUsize> = Apart(AtomicUsize::new(0));
static JOB: JobSlot = JobSlot(UnsafeCell::new(None));
static PANIC: Mutex<Option<Payload>> = Mutex::new(None);
/// Protects going to sleep; both condition variables use it.
static SLEEP: Mutex<()> = Mutex::new(());
static WORK_CAME: Condvar = Condvar::new();
static REGION_LEFT: Condvar = Condvar::new();
static SPAWNED: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy)]
struct Job {
    tiles: usize,
    /// Valid while the region runs; its actual lifetime is that of the call of [`run`].
    body: &'static (dyn Fn(usize) + Sync),
}

struct JobSlot(UnsafeCell<Option<Job>>);

// SAFETY: `run` writes it while it holds BUSY and the region is closed and empty: the previous holder released BUSY only then. `work` reads
// it between `enter` and `leave`, when the region is open or its caller waits. The stores and loads of STATE order both.
unsafe impl Sync for JobSlot {}

fn epoch(state: u64) -> u32 {
    (state >> 32) as u32
}

/// A panic while one of these locks is held leaves nothing inconsistent.
fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs a region and returns true, or returns false at once if another region is running.
pub(super) fn run(tiles: usize, body: &(dyn Fn(usize) + Sync)) -> bool {
    if BUSY.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    let workers = threads() - 1;
    if SPAWNED.load(Ordering::Relaxed) < workers {
        spawn(workers);
    }
    // SAFETY: only the lifetime changes. Workers use the body only between `enter` and `leave`, and this function returns only when
    // `wait_until_left` has seen no worker inside and OPEN is cleared, so that none can enter. It does not unwind before: `run_tiles`
    // catches panics of the body and drops no payload, and nothing else here panics.
    let body = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(body) };
    let job = Job { tiles, body };
    // SAFETY: BUSY is held, and the previous holder released it after closing its region and waiting for all workers to leave. No other
    // code accesses the slot until STATE is stored below.
    unsafe { *JOB.0.get() = Some(job) };
    NEXT.0.store(0, Ordering::Relaxed);
    let next_epoch = epoch(STATE.0.load(Ordering::Relaxed)).wrapping_add(1);
    STATE.0.store((next_epoch as u64) << 32 | OPEN, Ordering::SeqCst);
    wake_workers(workers.min(tiles - 1));

    run_tiles(job);

    STATE.0.fetch_and(!OPEN, Ordering::AcqRel);
    wait_until_left();
    let panic = lock(&PANIC).take();
    BUSY.0.store(false, Ordering::Release);
    if let Some(payload) = panic {
        pool::resume(payload);
    }
    true
}

/// Claims tiles until none are left. The first panic is kept, and the remaining tiles still run.
fn run_tiles(job: Job) {
    loop {
        let tile = NEXT.0.fetch_add(1, Ordering::Relaxed);
        if tile >= job.tiles {
            return;
        }
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (job.body)(tile))) {
            keep_first(&mut lock(&PANIC), payload);
        }
    }
}

/// Sleepers are counted before they read the state for the last time, and the state was stored before this load: one of the two sees the
/// other.
fn wake_workers(wanted: usize) {
    if SLEEPERS.0.load(Ordering::SeqCst) == 0 {
        return;
    }
    drop(lock(&SLEEP));
    // After the thread count was lowered, a surplus worker could consume a single notification.
    let spawned = SPAWNED.load(Ordering::Relaxed);
    if wanted < spawned && spawned < threads() {
        for _ in 0..wanted {
            WORK_CAME.notify_one();
        }
    } else {
        WORK_CAME.notify_all();
    }
}

fn wait_until_left() {
    for _ in 0..CALLER_SPINS {
        if STATE.0.load(Ordering::Acquire) & INSIDE == 0 {
            return;
        }
        spin_loop();
    }
    let mut guard = lock(&SLEEP);
    let mut state = STATE.0.fetch_or(WAITING, Ordering::AcqRel);
    while state & INSIDE != 0 {
        guard = REGION_LEFT.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        state = STATE.0.load(Ordering::Acquire);
    }
}

/// If a thread cannot be started, the region works without it: the caller runs the remaining tiles.
#[cold]
fn spawn(workers: usize) {
    while SPAWNED.load(Ordering::Relaxed) < workers {
        let index = SPAWNED.load(Ordering::Relaxed);
        // The thread that waits for this one reports a lack of memory, so this one stays silent.
        let builder = std::thread::Builder::new().name(format!("wengert-{}", index + 1));
        if builder.spawn(move || pool::attempt(|| work(index))).is_err() {
            return;
        }
        SPAWNED.store(index + 1, Ordering::Relaxed);
    }
}

/// The main loop of worker `index`: wait for a new epoch, enter it if it is still open, leave.
fn work(index: usize) {
    let mut seen = 0;
    loop {
        seen = wait_for_epoch(seen);
        if index + 1 < threads() && enter(seen) {
            // SAFETY: `enter` saw the region open, which `run` stored after the job; `run` waits for `leave` before the job is written
            // again.
            let job = unsafe { *JOB.0.get() };
            run_tiles(job.expect("the job is written before the region opens"));
            leave();
        }
    }
}

fn wait_for_epoch(seen: u32) -> u32 {
    let fresh = || {
        let state = STATE.0.load(Ordering::SeqCst);
        (state & OPEN != 0 && epoch(state) != seen).then(|| epoch(state))
    };
    for _ in 0..WORKER_SPINS {
        if let Some(epoch) = fresh() {
            return epoch;
        }
        spin_loop();
    }
    let mut guard = lock(&SLEEP);
    SLEEPERS.0.fetch_add(1, Ordering::SeqCst);
    let epoch = loop {
        match fresh() {
            Some(epoch) => break epoch,
            None => guard = WORK_CAME.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner()),
        }
    };
    SLEEPERS.0.fetch_sub(1, Ordering::SeqCst);
    epoch
}

/// Counts this worker into region `wanted`, unless that is closed.
fn enter(wanted: u32) -> bool {
    STATE
        .0
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            (epoch(state) == wanted && state & OPEN != 0).then_some(state + 1)
        })
        .is_ok()
}

fn leave() {
    let before = STATE.0.fetch_sub(1, Ordering::AcqRel);
    if before & WAITING != 0 && before & INSIDE == 1 {
        // The caller holds the lock from before it announces its wait until it sleeps.
        drop(lock(&SLEEP));
        REGION_LEFT.notify_one();
    }
}
