//! Tensors on a device: here a machine whose memory is a list of bytes, and which computes as the processor does.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use wengert::Line;
use wengert::backend::{Backend, Cpu, DeviceMemory, Input, Machine, Machines, Plan, Runner, Target, enter};
use wengert::prelude::*;
use wengert::primitive::{Attrs, Outputs, Primitive, Spec, bind};

const SHELF: Device = Device::Cuda(500);

/// How often numbers were copied back.
static READS: AtomicUsize = AtomicUsize::new(0);

struct Shelf;

struct Bytes(Mutex<Vec<u8>>);

impl DeviceMemory for Bytes {
    fn device(&self) -> Device {
        SHELF
    }

    fn read(&self, bytes: &mut [u8]) -> Result<(), Error> {
        READS.fetch_add(1, Ordering::Relaxed);
        bytes.copy_from_slice(&self.0.lock().unwrap());
        Ok(())
    }
}

fn shelved(tensor: &Tensor) -> Tensor {
    let bytes = tensor.contiguous().as_bytes().to_vec();
    Tensor::on_device(tensor.spec(), Arc::new(Bytes(Mutex::new(bytes))))
}

impl Machine for Shelf {
    fn upload(&self, _spec: &Spec, bytes: &[u8]) -> Result<Arc<dyn DeviceMemory>, Error> {
        Ok(Arc::new(Bytes(Mutex::new(bytes.to_vec()))))
    }

    fn backend(&self) -> Box<dyn Any> {
        let backend: Arc<dyn Backend> = Arc::new(Shelf);
        Box::new(backend)
    }

    fn apply(
        &self,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        _outputs: &[Spec],
    ) -> Result<Outputs, Error> {
        assert!(operands.iter().all(|operand| operand.device() == SHELF), "{}", op.name());
        let operands: Vec<Tensor> = operands.iter().map(|operand| operand.to(Device::Cpu)).collect();
        let operands: Vec<&Tensor> = operands.iter().collect();
        Ok(bind(op, attrs.clone(), &operands).iter().map(shelved).collect())
    }
}

impl Backend for Shelf {
    fn target(&self) -> Target {
        Target::CPU
    }

    fn device(&self) -> Device {
        SHELF
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        Ok(Box::new(Copying(Cpu.runner(plan)?)))
    }
}

/// Runs on copies.
struct Copying(Box<dyn Runner>);

impl Runner for Copying {
    fn admit(&self, input: &mut Tensor, _is_updated: bool) -> Result<(), Error> {
        if input.device() != SHELF {
            *input = Tensor { link: input.link.clone(), slot: input.slot.clone(), ..shelved(input) };
        }
        Ok(())
    }

    fn prepare(&self, output: &mut Tensor, spec: &Spec) -> Result<(), Error> {
        *output = shelved(&Tensor::zeros(&spec.shape[..]).cast(spec.dtype));
        Ok(())
    }

    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        line: Line,
    ) -> Result<(), Error> {
        let inputs: Vec<Input<'_>> = inputs.collect();
        let outputs: Vec<&mut Tensor> = outputs.collect();
        let mut own: Vec<Tensor> = inputs
            .iter()
            .map(|input| match input {
                Input::Read(tensor) => tensor.to(Device::Cpu),
                Input::Update(tensor) => tensor.to(Device::Cpu).detach() + 0.0,
            })
            .collect();
        let mut results: Vec<Tensor> = outputs.iter().map(|output| Tensor::blank(&output.spec())).collect();
        let mut given = own.iter_mut().zip(&inputs).map(|(own, input)| match input {
            Input::Read(_) => Input::Read(own),
            Input::Update(_) => Input::Update(own),
        });
        self.0.run(&mut given, &mut results.iter_mut(), line)?;
        for (input, own) in inputs.into_iter().zip(own) {
            if let Input::Update(tensor) = input {
                tensor.value = shelved(&own).value;
            }
        }
        outputs.into_iter().zip(&results).for_each(|(output, result)| *output = shelved(result));
        Ok(())
    }
}

impl Machines for Shelf {
    fn open(&self, device: Device) -> Option<Result<Arc<dyn Machine>, Error>> {
        (device == SHELF).then(|| Ok(Arc::new(Shelf) as Arc<dyn Machine>))
    }
}

fn on_shelf(tensor: Tensor) -> Tensor {
    static ENTERED: Once = Once::new();
    ENTERED.call_once(|| enter(&Shelf));
    tensor.to(SHELF)
}

#[test]
fn numbers_go_there_and_come_back() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let there = on_shelf(x.t());
    assert_eq!((there.device(), there.shape()), (SHELF, &[2, 2][..]));
    assert_eq!(there.to(Device::Cpu), x.t());
    assert_eq!(there.to_vec::<f64>(), [1.0, 3.0, 2.0, 4.0]);
    assert_eq!(there.to_string(), x.t().to_string());
    assert_eq!(on_shelf(Tensor::from(3.0)).item(), 3.0);
}

#[test]
fn numbers_are_copied_back_once() {
    let x = on_shelf(Tensor::from([1.0, 2.0]));
    let before = READS.load(Ordering::Relaxed);
    assert_eq!((x.to_vec::<f64>(), x.to_vec::<f64>()), (vec![1.0, 2.0], vec![1.0, 2.0]));
    // Other tests read too, so this is a bound from below for them and the number for this one alone.
    assert!(READS.load(Ordering::Relaxed) > before);
    assert!(std::ptr::eq(x.value.view().bytes, x.value.view().bytes));
}

#[test]
fn operations_and_their_gradients_stay_there() {
    let x = on_shelf(Tensor::from([1.0, 2.0, 3.0])).require_grad();
    let y = (&x * 2.0).sin() * &x;
    assert_eq!(y.device(), SHELF);
    let loss = y.reshape([3, 1]).sum();
    loss.backward();
    let gradient = x.grad().unwrap();
    assert_eq!(gradient.device(), SHELF);
    let right = grad(|x: &Tensor| ((x * 2.0).sin() * x).sum())(&Tensor::from([1.0, 2.0, 3.0]));
    assert_eq!(gradient.to(Device::Cpu), right);
    let found = grad(|x: &Tensor| ((x * 2.0).sin() * x).sum())(&x.detach());
    assert_eq!((found.device(), found.to(Device::Cpu)), (SHELF, right));
}

#[test]
fn updates_stay_there() {
    let mut x = on_shelf(Tensor::from([1.0, 2.0]));
    x += 1.0;
    x *= &on_shelf(Tensor::from([2.0, 3.0]));
    assert_eq!((x.device(), x.to_vec::<f64>()), (SHELF, vec![4.0, 9.0]));
}

#[test]
fn two_devices_in_one_call_are_an_error_that_names_to() {
    let x = on_shelf(Tensor::from([1.0, 2.0]));
    let error = catch(|| &x + &Tensor::from([1.0, 2.0])).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(error.to_string().contains("to(Device::Cuda(500))") && error.line().is_some(), "{error}");
    let error = catch(|| compile(|x: &Tensor| x * 2.0).call(&x)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(error.to_string().contains(".on(Device::Cuda(500))"), "{error}");
}

#[test]
fn compiled_calls_leave_results_and_state_there() {
    on_shelf(Tensor::from(0.0));
    let f = compile(|x: &Tensor| x.exp() * 2.0).on(SHELF);
    let y = f.call(&Tensor::from([0.0, 1.0]));
    assert_eq!((y.device(), y.to(Device::Cpu)), (SHELF, Tensor::from([0.0, 1.0]).exp() * 2.0));
    assert_eq!(f.call(&y.to(Device::Cpu).to(SHELF)).device(), SHELF);
    let step = compile_step(|w: &mut Tensor, x: &Tensor| {
        *w += x;
        w.sum()
    })
    .on(SHELF);
    let mut w = Tensor::from([1.0, 2.0]);
    let sums: Vec<f64> = (0..3).map(|_| step.call(&mut w, &Tensor::from([1.0, 1.0])).item()).collect();
    assert_eq!((sums, w.device(), w.to_vec::<f64>()), (vec![5.0, 7.0, 9.0], SHELF, vec![4.0, 5.0]));
}

#[test]
fn a_compiled_call_is_differentiated_where_it_runs() {
    let x = on_shelf(Tensor::from([1.0, 2.0]));
    let f = compile(|x: &Tensor| (x * x).sum()).on(SHELF);
    let gradient = grad(|x: &Tensor| f.call(x))(&x);
    assert_eq!((gradient.device(), gradient.to_vec::<f64>()), (SHELF, vec![2.0, 4.0]));
    for result in [
        catch(|| grad(|x: &Tensor| f.call(x))(&Tensor::from([1.0, 2.0]))),
        catch(|| vmap(|x: &Tensor| f.call(x))(&Tensor::from([[1.0, 2.0]]))),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Device);
        assert!(error.to_string().contains("to(Device::Cuda(500))"), "{error}");
    }
}

#[test]
fn a_device_that_does_not_exist_is_an_error_with_a_line() {
    let error = Tensor::from([1.0, 2.0]).try_to(Device::Cuda(999)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(error.suggestion().is_some(), "{error}");
    let error = catch(|| compile(|x: &Tensor| x * 2.0).on(Device::Cuda(999))).err().unwrap();
    assert!(error.line().is_some_and(|line| line.to_string().contains("devices.rs")), "{error}");
}
