//! Saved values on disk.

use super::process;
use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use wengert::memory::{Threshold, offload, with_memory_budget};
use wengert::prelude::*;

/// An empty folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wengert-offload-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Waits for the thread that may be the last to need a file.
    fn becomes_empty(&self) -> bool {
        let empty = |_: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            self.files().is_empty()
        };
        (0..500).any(|k| empty(&k))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn leaf() -> Tensor {
    Tensor::linspace(-0.9, 0.9, 64 * 64).reshape([64, 64]).require_grad()
}

fn network(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    for layer in 0..12_u64 {
        let h = y.matmul(&y.t()).tanh() * 0.1;
        y = h.dropout(0.2, &Key::new(layer)).softmax(1) + h.slice(..32).repeat([2, 1]) * &y;
        y *= &h;
    }
    y.mean()
}

fn plain(x: &Tensor) -> Tensor {
    network(x).backward();
    x.take_grad().unwrap()
}

#[test]
fn gradients_have_the_same_bits_and_the_file_is_removed() {
    let (folder, x) = (Folder::new("bits"), leaf());
    let expected = plain(&x);
    for bytes in [1, 1 << 13, 1 << 20] {
        offload(&folder.0, Threshold::bytes(bytes), || network(&x).backward());
        assert_eq!(x.take_grad().unwrap(), expected);
    }
    let transformed = offload(&folder.0, Threshold::bytes(1), || grad(network)(&x.detach()));
    assert_eq!(transformed, expected);
    assert!(folder.becomes_empty());
}

#[test]
fn compressed_values_take_less_space_and_have_the_same_bits() {
    let folder = Folder::new("compressed");
    let threshold = Threshold::bytes(1 << 10);
    let written = |threshold, loss: &dyn Fn() -> Tensor| {
        let loss = offload(&folder.0, threshold, loss);
        let length = folder.files().iter().map(|path| fs::metadata(path).unwrap().len()).sum::<u64>();
        loss.backward();
        drop(loss);
        assert!(folder.becomes_empty());
        length
    };
    for dtype in [DType::F64, DType::F32, DType::BF16] {
        let x = leaf().detach().cast(dtype).require_grad();
        // Half of all numbers are zeros.
        let loss = || (0..4).fold(x.clone(), |y, _| (y.relu() * &x).relu().square()).sum();
        loss().backward();
        let expected = x.take_grad().unwrap();
        let raw = written(threshold, &loss);
        assert_eq!(x.take_grad().unwrap(), expected);
        let small = written(threshold.compressed(), &loss);
        assert_eq!(x.take_grad().unwrap(), expected, "{dtype}");
        assert!(small < raw * 3 / 4, "{dtype}: {small} of {raw} bytes");
    }
    let x = Tensor::randn([64, 64], 3).require_grad();
    let loss = || (0..4).fold(x.clone(), |y, _| y.sin().exp()).sum();
    loss().backward();
    let expected = x.take_grad().unwrap();
    written(threshold.compressed(), &loss);
    assert_eq!(x.take_grad().unwrap(), expected);
}

#[test]
fn the_backward_pass_may_come_later_and_twice() {
    let (folder, x) = (Folder::new("later"), leaf());
    let expected = plain(&x);
    let loss = offload(&folder.0, Threshold::bytes(1 << 10), || network(&x));
    assert!(fs::metadata(&folder.files()[0]).unwrap().len() > 12 * 64 * 64 * 8);
    loss.backward_with(Backward::new().retain_graph());
    assert_eq!(x.take_grad().unwrap(), expected);
    loss.backward();
    assert_eq!(x.take_grad().unwrap(), expected);
    drop(loss);
    assert!(folder.becomes_empty());
}

#[test]
fn checkpoints_budgets_and_second_derivatives_go_with_it() {
    let (folder, x) = (Folder::new("together"), leaf());
    let expected = plain(&x);
    let threshold = Threshold::bytes(1 << 10);
    offload(&folder.0, threshold, || checkpoint(network)(&x).backward());
    assert_eq!(x.take_grad().unwrap(), expected);
    // Inside a checkpoint, also around a part of it, there is nothing to write.
    let path = folder.0.clone();
    let part = checkpoint(move |x: &Tensor| offload(&path, threshold, || network(x).exp()).sin());
    assert_eq!(grad(part)(&x.detach()), grad(|x: &Tensor| network(x).exp().sin())(&x.detach()));
    with_memory_budget(1 << 40, || offload(&folder.0, threshold, || network(&x).backward()));
    assert_eq!(x.take_grad().unwrap(), expected);
    offload(&folder.0, threshold, || with_memory_budget(1 << 40, || network(&x).backward()));
    assert_eq!(x.take_grad().unwrap(), expected);
    let second = |x: &Tensor| grad(|x: &Tensor| grad(|x: &Tensor| x.sin().exp().sum())(x).square().sum())(x);
    let at = x.detach();
    assert_eq!(offload(&folder.0, threshold, || second(&at)), second(&at));
}

#[test]
fn a_panic_removes_the_file() {
    let (folder, x) = (Folder::new("panic"), leaf());
    let panicked = catch(|| {
        offload(&folder.0, Threshold::bytes(1), || {
            let y = network(&x);
            y.matmul(&Tensor::ones([3, 3]))
        })
    });
    assert!(panicked.is_err() && folder.becomes_empty());
}

#[test]
fn a_file_that_was_cut_changed_or_removed_is_an_error_and_the_call_can_be_repeated() {
    let (folder, x) = (Folder::new("faults"), leaf());
    let expected = plain(&x);
    let cut = |path: &PathBuf| fs::File::options().write(true).open(path).unwrap().set_len(100).unwrap();
    let change = |path: &PathBuf| {
        let mut bytes = fs::read(path).unwrap();
        bytes.iter_mut().for_each(|byte| *byte ^= 1);
        fs::write(path, bytes).unwrap();
    };
    let remove = |path: &PathBuf| fs::remove_file(path).unwrap();
    for (spoil, word) in [(&cut as &dyn Fn(&PathBuf), "cut"), (&change, "changed"), (&remove, "cannot read")] {
        let loss = offload(&folder.0, Threshold::bytes(1 << 10), || network(&x));
        let path = folder.files()[0].clone();
        spoil(&path);
        let error = catch(|| loss.backward()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::File, "{error}");
        assert!(error.message().contains(word) && error.message().contains(path.to_str().unwrap()), "{error}");
        assert!(x.grad().is_none());
        drop(loss);
        offload(&folder.0, Threshold::bytes(1 << 10), || network(&x).backward());
        assert_eq!(x.take_grad().unwrap(), expected);
        assert!(folder.becomes_empty());
    }
}

/// The system refuses to make files larger than a few blocks, as it does when a disk is full.
#[cfg(unix)]
#[test]
fn a_disk_that_takes_no_more_is_an_error_and_changes_no_gradient() {
    if std::env::var_os("WENGERT_SMALL_FILES").is_none() {
        let inner = process::only(module_path!(), "a_disk_that_takes_no_more_is_an_error_and_changes_no_gradient");
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""])
            .arg(inner.get_program())
            .args(inner.get_args());
        assert!(shell.env("WENGERT_SMALL_FILES", "1").status().unwrap().success());
        return;
    }
    let (folder, x) = (Folder::new("full"), leaf());
    let error = catch(|| offload(&folder.0, Threshold::bytes(1 << 10), || network(&x).backward())).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::File, "{error}");
    assert!(
        error.message().contains("cannot write") && error.message().contains(folder.0.to_str().unwrap()),
        "{error}"
    );
    assert!(x.grad().is_none() && folder.becomes_empty());
    let expected = plain(&x);
    offload(&folder.0, Threshold::bytes(1 << 30), || network(&x).backward());
    assert_eq!(x.take_grad().unwrap(), expected);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_before_anything_runs() {
    let folder = Folder::new("argument");
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    for path in [PathBuf::new(), folder.0.join("missing"), file] {
        let has_run = Cell::new(false);
        let error = catch(|| offload(&path, Threshold::bytes(1), || has_run.set(true))).unwrap_err();
        assert!(!has_run.get());
        assert_eq!(*error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.message().contains(path.to_str().unwrap()) && error.line().is_some(), "{error}");
    }
    let traced = catch(|| {
        let folder = folder.0.clone();
        compile(move |x: &Tensor| offload(&folder, Threshold::bytes(1), || x.sin())).call(&leaf().detach())
    });
    assert_eq!(*traced.unwrap_err().kind(), ErrorKind::Argument);
}
