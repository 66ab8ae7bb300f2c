//! Memory exchanged without copies: borrowed elements, vectors that are taken over, tensors over foreign memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::prelude::*;

/// Foreign elements, starting with the second, so that they are aligned to their element size and to nothing more.
struct Lender {
    numbers: Vec<f32>,
    drops: Arc<AtomicUsize>,
}

impl Lender {
    fn of(numbers: &[f32]) -> (Lender, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Lender { numbers: [&[f32::NAN], numbers].concat(), drops: drops.clone() }, drops)
    }
}

impl AsRef<[f32]> for Lender {
    fn as_ref(&self) -> &[f32] {
        &self.numbers[1..]
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_vector_is_taken_over_borrowed_and_written_in_place() {
    for shape in [&[6][..], &[2, 3], &[1, 2, 3]] {
        let numbers: Vec<f64> = (0..6).map(f64::from).collect();
        let address = numbers.as_ptr();
        let mut x = Tensor::from_vec(numbers, shape);
        assert_eq!(x.as_slice::<f64>().as_ptr(), address, "{shape:?} copied");
        assert_eq!(x.as_bytes().as_ptr(), address.cast(), "{shape:?} copied");
        x += 1.0;
        assert_eq!(x.as_slice::<f64>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(x.as_slice::<f64>().as_ptr(), address, "{shape:?} copied for an update");
        let held = x.clone();
        x *= 2.0;
        assert_eq!(held.as_slice::<f64>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(x.as_slice::<f64>()[5], 12.0);
    }
}

#[test]
fn every_dtype_arrives_and_leaves_with_its_bits() {
    fn round_trip<T: wengert::Scalar + PartialEq + std::fmt::Debug>(numbers: [T; 4]) {
        let x = Tensor::from_vec(numbers.to_vec(), [2, 2]);
        assert_eq!((x.dtype(), x.as_slice::<T>()), (T::DTYPE, &numbers[..]));
        assert_eq!(x.to_vec::<T>(), numbers);
        assert_eq!(Tensor::from_slice(&numbers, [4]).as_slice::<T>(), numbers);
        assert_eq!(Tensor::from_owner(numbers, [4]).as_slice::<T>(), numbers);
        let [a, b, c, d] = numbers;
        assert_eq!(x.t().to_vec::<T>(), [a, c, b, d]);
        let mut copy = [a; 4];
        x.t().copy_to(&mut copy);
        assert_eq!(copy, [a, c, b, d]);
        for x in [Tensor::full([], b), Tensor::from_vec(vec![b], [1, 1]), Tensor::from_owner([b], [1])] {
            assert_eq!((x.as_slice::<T>(), x.as_bytes().len()), (&[b][..], size_of::<T>()));
        }
    }
    round_trip([0.0, -1.5, f64::MIN_POSITIVE, f64::INFINITY]);
    round_trip([0.0, -1.5f32, f32::MIN_POSITIVE, f32::INFINITY]);
    round_trip([0i64, -1, i64::MIN, i64::MAX]);
    round_trip([0i32, -1, i32::MIN, i32::MAX]);
    round_trip([0u8, 1, 128, 255]);
    round_trip([false, true, true, false]);
}

#[test]
fn what_cannot_be_borrowed_says_why_and_what_to_do() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let error = x.try_as_slice::<f32>().unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::DType(vec![DType::F64, DType::F32]));
    assert_eq!(error.suggestion(), Some("read them with as_slice::<f64>() or convert with .cast(DType::F32)"));
    for view in [x.t(), x.slice((.., 0)), Tensor::ones([3]), x.flip(&[0])] {
        let error = view.try_as_bytes().unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::NotContiguous);
        assert!(error.suggestion().unwrap().contains("contiguous()"), "{error}");
        assert_eq!(view.contiguous().as_slice::<f64>(), view.to_vec::<f64>());
    }
    assert_eq!(x.slice(1).as_slice::<f64>(), [3.0, 4.0]);
    let caught = catch(|| x.t().as_slice::<f64>().len()).unwrap_err();
    assert!(caught.line().unwrap().file().ends_with("exchange.rs"), "{caught}");

    // A tensor inside a derivative has values; one in a trace or a batch has none to borrow.
    let gradient = grad(|x: &Tensor| {
        assert_eq!(x.as_slice::<f64>(), [1.0, 2.0, 3.0, 4.0]);
        x.square().sum()
    })(&x);
    assert_eq!(gradient.as_slice::<f64>(), [2.0, 4.0, 6.0, 8.0]);
    let traced = catch(|| compile(|x: &Tensor| Tensor::from(x.as_slice::<f64>().len() as f64)).call(&x)).unwrap_err();
    assert_eq!((traced.kind(), traced.operation()), (&ErrorKind::Traced, "as_slice"));
    assert!(catch(|| vmap(|x: &Tensor| Tensor::from(x.as_slice::<f64>().len() as f64))(&x)).is_err());
}

#[test]
fn an_owner_lives_as_long_as_a_view_of_its_numbers_and_is_dropped_once() {
    let (lender, drops) = Lender::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let address = lender.as_ref().as_ptr();
    let x = Tensor::from_owner(lender, [2, 3]);
    assert_eq!(x.as_slice::<f32>().as_ptr(), address);
    let corner = x.t().slice((1.., 1));
    drop(x);
    assert_eq!((drops.load(Ordering::Relaxed), corner.to_vec::<f32>()), (0, vec![5.0, 6.0]));
    drop(corner);
    assert_eq!(drops.load(Ordering::Relaxed), 1);

    // A graph borrows the values that it saved.
    let (lender, drops) = Lender::of(&[1.0, 2.0, 3.0]);
    let x = Tensor::from_owner(lender, [3]).require_grad();
    let y = x.square().sum();
    drop(x);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(y);
    assert_eq!(drops.load(Ordering::Relaxed), 1);

    let (lender, drops) = Lender::of(&[1.0, 2.0, 3.0]);
    let error = Tensor::try_from_owner(lender, [2, 2]).unwrap_err();
    assert_eq!(drops.load(Ordering::Relaxed), 1, "{error}");
    let (lender, drops) = Lender::of(&[7.0]);
    assert_eq!(Tensor::from_owner(lender, [1, 1]).item(), 7.0);
    assert_eq!(drops.load(Ordering::Relaxed), 1, "one number is copied");
}

#[test]
fn no_update_reaches_the_numbers_of_an_owner() {
    let numbers: Arc<[f64]> = (0..2000).map(f64::from).collect();
    let before = numbers.to_vec();
    let fresh = |shape: &[usize]| Tensor::from_owner(numbers.clone(), shape);
    let updates: [fn(&mut Tensor); 6] = [
        |x| *x += 1.0,
        |x| *x *= 2.0,
        |x| x.set(0, 9.0),
        |x| x.slice_mut(1..2).add(9.0),
        |x| no_grad(|| *x -= 1.0),
        |x| *x = std::mem::replace(x, Tensor::from(0.0)).sin().exp(),
    ];
    for (number, update) in updates.iter().enumerate() {
        for shape in [&[2000][..], &[40, 50], &[2, 20, 50]] {
            let mut x = fresh(shape);
            let mut own = Tensor::from_slice(&before, shape);
            for _ in 0..2 {
                update(&mut x);
                update(&mut own);
                assert_eq!(x, own, "update {number}");
            }
            assert_ne!(x.as_slice::<f64>().as_ptr(), numbers.as_ptr());
        }
    }
    let step = compile_step(|w: &mut Tensor, x: &Tensor| *w += x);
    let mut w = fresh(&[2000]);
    for _ in 0..3 {
        step.call(&mut w, &fresh(&[2000]));
    }
    assert_eq!(w.as_slice::<f64>()[1999], 4.0 * 1999.0);
    let leaf = fresh(&[2000]).require_grad();
    (leaf.square().sum() + leaf.sum()).backward();
    assert_eq!(numbers[..], before[..]);
}

#[test]
fn two_tensors_over_the_same_memory_are_two_constants_of_a_program() {
    let numbers: Arc<[f64]> = Arc::from([1.0, 2.0, 3.0, 4.0]);
    let (row, square) = (Tensor::from_owner(numbers.clone(), [4]), Tensor::from_owner(numbers, [2, 2]));
    let f = compile(move |x: &Tensor| (x * &row).sum() + (x * &square).sum());
    assert_eq!(f.call(&Tensor::from(2.0)).item(), 40.0);
}

/// Kernels of every kind give the same bits on memory that is only aligned to its elements.
#[test]
fn results_do_not_depend_on_how_memory_is_aligned() {
    let numbers = |count: usize, key: u64| Key::new(key).uniform([count], DType::F32).to_vec::<f32>();
    let tensor = |aligned: bool, key: u64, shape: &[usize]| {
        let numbers = numbers(shape.iter().product(), key);
        match aligned {
            true => Tensor::from_slice(&numbers, shape),
            false => Tensor::from_owner(Lender::of(&numbers).0, shape),
        }
    };
    let results = |aligned: bool| {
        let [x, w, image, kernel] = [(1, &[67, 131][..]), (2, &[131, 33]), (3, &[2, 3, 19, 21]), (4, &[5, 3, 3, 3])]
            .map(|(key, shape)| tensor(aligned, key, shape));
        let network = |(x, w): &(Tensor, Tensor)| (x.matmul(w).tanh() * 0.5).softmax(1).log().mean();
        let point = (x.clone(), w.clone());
        let (dx, dw) = grad(network)(&point);
        let (cx, cw) = compile(grad(network)).call(&point);
        vec![
            x.exp(),
            x.sum_over(0),
            x.sum_over(1),
            x.sum(),
            x.cumsum(1),
            x.t().contiguous(),
            x.matmul(&w),
            x.t().matmul(&x),
            x.sort(1).0,
            x.max(),
            image.conv2d(&kernel, &Conv::new()),
            x.gt(0.5).where_(&x, 0.0),
            x.cast(DType::F64),
            dx,
            dw,
            cx,
            cw,
        ]
    };
    for (number, (aligned, lent)) in results(true).into_iter().zip(results(false)).enumerate() {
        assert_eq!(aligned.contiguous().as_bytes(), lent.contiguous().as_bytes(), "result {number}");
    }
}

#[test]
fn gradients_pass_through_lent_and_taken_numbers() {
    let f = |x: &Tensor| (x.square() * x.sin()).sum();
    let numbers = [0.5, 1.0, 1.5, 2.0];
    let expected = grad(f)(&Tensor::from_slice(&numbers, [4]));
    for x in [Tensor::from_owner(numbers, [4]), Tensor::from_vec(numbers.to_vec(), [4])] {
        assert_eq!(grad(f)(&x), expected);
        assert_eq!(jvp(f, &x, &Tensor::ones([4])).1, expected.sum());
        assert_eq!(compile(grad(f)).call(&x), expected);
        let leaf = x.require_grad();
        f(&leaf).backward();
        assert_eq!(leaf.grad().unwrap(), expected);
        assert_eq!(leaf.as_slice::<f64>(), numbers);
    }
}

#[test]
fn nothing_at_all_is_exchanged_too() {
    for x in [Tensor::from_owner(Vec::<f32>::new(), [2, 0]), Tensor::from_vec(Vec::<f32>::new(), [0])] {
        assert!(x.as_slice::<f32>().is_empty() && x.as_bytes().is_empty());
        assert_eq!((x.exp().elements(), x.sum().item()), (0, 0.0));
        assert!(compile(|x: &Tensor| x * 2.0).call(&x).as_slice::<f32>().is_empty());
    }
}

#[test]
fn many_threads_read_lent_numbers_and_the_last_one_drops_the_owner() {
    let (lender, drops) = Lender::of(&[1.0, 2.0, 3.0, 4.0]);
    let x = Tensor::from_owner(lender, [2, 2]);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let mut x = x.clone();
            scope.spawn(move || {
                x += number as f32;
                assert_eq!(x.as_slice::<f32>()[0], 1.0 + number as f32);
            });
        }
    });
    let drops_here = drops.clone();
    std::thread::spawn(move || {
        assert_eq!((drops_here.load(Ordering::Relaxed), x.as_slice::<f32>()), (0, &[1.0, 2.0, 3.0, 4.0][..]));
    })
    .join()
    .unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}
