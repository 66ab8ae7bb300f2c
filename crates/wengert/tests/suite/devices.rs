//! Tensors on a device: here a machine whose memory is a list of bytes, and which computes as the processor does.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;
use wengert::backend::{
    Backend, Cpu, DeviceMemory, Input, Instruction, Kind, Machine, Machines, Placed, PlacedLoop, Plan, Runner, Target,
    enter, operation_runner,
};
use wengert::memory::{self, PoolStatistics};
use wengert::prelude::*;
use wengert::primitive::{Attrs, Outputs, Primitive, Spec};
use wengert::{DeviceUsage, Line};

const SHELF: Device = Device::Cuda(500);

/// How often numbers were copied back.
static READS: AtomicUsize = AtomicUsize::new(0);

/// A machine that refuses some operations.
pub struct Shelf {
    device: Device,
    refused: &'static [&'static str],
}

static ALL: Shelf = Shelf { device: SHELF, refused: &[] };

/// The bytes of tensors there.
static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Bytes(Device, Mutex<Vec<u8>>);

impl Bytes {
    fn new(device: Device, bytes: &[u8]) -> Arc<Bytes> {
        LIVE.fetch_add(bytes.len(), Ordering::Relaxed);
        Arc::new(Bytes(device, Mutex::new(bytes.to_vec())))
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        LIVE.fetch_sub(self.1.lock().unwrap().len(), Ordering::Relaxed);
    }
}

impl DeviceMemory for Bytes {
    fn device(&self) -> Device {
        self.0
    }

    fn read(&self, bytes: &mut [u8]) -> Result<(), Error> {
        READS.fetch_add(1, Ordering::Relaxed);
        bytes.copy_from_slice(&self.1.lock().unwrap());
        Ok(())
    }
}

impl Shelf {
    /// With all operations but these.
    pub const fn without(device: Device, refused: &'static [&'static str]) -> Shelf {
        Shelf { device, refused }
    }

    fn shelved(&self, tensor: &Tensor) -> Tensor {
        Tensor::on_device(tensor.spec(), Bytes::new(self.device, tensor.contiguous().as_bytes()))
    }

    /// The first operation of a plan that it refuses.
    fn refuses(&self, plan: &Plan) -> Option<&'static str> {
        let known = |name: &'static str| Some(name).filter(|name| self.refused.contains(name));
        let of_loop = |placed: &PlacedLoop| {
            placed.body.instructions.iter().find_map(|instruction| match instruction {
                Instruction::Apply(apply) => known(apply.op.name()),
                _ => None,
            })
        };
        plan.steps.iter().find_map(|step| match step {
            Placed::Loops(loops) => loops.iter().find_map(of_loop),
            Placed::Call { op, then, .. } => {
                known(op.name()).or_else(|| then.iter().flat_map(|loops| &**loops).find_map(of_loop))
            }
            Placed::Flow { flow, .. } => match &flow.kind {
                Kind::Scan(scan) => self.refuses(&scan.body.plan),
                Kind::While { test, body, .. } => self.refuses(&test.plan).or_else(|| self.refuses(&body.plan)),
                Kind::Switch { branches } => branches.iter().find_map(|branch| self.refuses(&branch.plan)),
            },
            Placed::Copy { .. } => None,
        })
    }
}

impl Machine for Shelf {
    fn upload(&self, _spec: &Spec, bytes: &[u8]) -> Result<Arc<dyn DeviceMemory>, Error> {
        Ok(Bytes::new(self.device, bytes))
    }

    fn backend(&self) -> Box<dyn Any> {
        let backend: Arc<dyn Backend> = Arc::new(Shelf { ..*self });
        Box::new(backend)
    }

    fn statistics(&self) -> PoolStatistics {
        let mut statistics = PoolStatistics::default();
        statistics.live_bytes = LIVE.load(Ordering::Relaxed);
        statistics
    }

    fn apply(
        &self,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        outputs: &[Spec],
    ) -> Result<Outputs, Error> {
        assert!(operands.iter().all(|operand| operand.device() == self.device), "{}", op.name());
        let specs: Vec<Spec> = operands.iter().map(|operand| operand.spec()).collect();
        let runner = operation_runner(op, attrs, &specs, outputs, self)?;
        let mut results: Vec<Tensor> = outputs.iter().map(Tensor::blank).collect();
        results.iter_mut().zip(outputs).try_for_each(|(result, spec)| runner.prepare(result, spec))?;
        let line = Line::new("devices.rs", 1, 1);
        runner.run(&mut operands.iter().map(|operand| Input::Read(operand)), &mut results.iter_mut(), line)?;
        Ok(results.into())
    }
}

impl Backend for Shelf {
    fn target(&self) -> Target {
        Target::CPU
    }

    fn device(&self) -> Device {
        self.device
    }

    fn runs(&self, equation: &Program) -> bool {
        self.refuses(&Plan::new(equation, vec![None; equation.outputs().len()], &Target::CPU)).is_none()
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        match self.refuses(&plan) {
            Some(name) => {
                Err(Error::new(ErrorKind::Device, "compile", format!("{name} has no kernel for this device")))
            }
            None => Ok(Box::new(Copying(Shelf { ..*self }, Cpu.runner(plan)?))),
        }
    }
}

/// Runs on copies.
struct Copying(Shelf, Box<dyn Runner>);

impl Runner for Copying {
    fn admit(&self, input: &mut Tensor, _is_updated: bool) -> Result<(), Error> {
        if input.device() != self.0.device {
            *input = Tensor { link: input.link.clone(), slot: input.slot.clone(), ..self.0.shelved(input) };
        }
        Ok(())
    }

    fn prepare(&self, output: &mut Tensor, spec: &Spec) -> Result<(), Error> {
        *output = self.0.shelved(&Tensor::zeros(&spec.shape[..]).cast(spec.dtype));
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
        self.1.run(&mut given, &mut results.iter_mut(), line)?;
        for (input, own) in inputs.into_iter().zip(own) {
            if let Input::Update(tensor) = input {
                tensor.value = self.0.shelved(&own).value;
            }
        }
        outputs.into_iter().zip(&results).for_each(|(output, result)| *output = self.0.shelved(result));
        Ok(())
    }

    fn usage(&self) -> Option<DeviceUsage> {
        Some(DeviceUsage { launches: 3, compile_time: Duration::from_millis(250), arena_bytes: 1 << 20 })
    }
}

impl Machines for Shelf {
    fn open(&self, device: Device) -> Option<Result<Arc<dyn Machine>, Error>> {
        (device == self.device).then(|| Ok(Arc::new(Shelf { ..*self }) as Arc<dyn Machine>))
    }
}

fn on_shelf(tensor: Tensor) -> Tensor {
    static ENTERED: Once = Once::new();
    ENTERED.call_once(|| enter(&ALL));
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

/// Functions whose rules begin with constants: seeds, zeros, factors, masks.
const LOSSES: [fn(&Tensor) -> Tensor; 18] = [
    |x| (x.exp() * 0.5 - x).mean(),
    |x| (-x.log_softmax(-1)).mean(),
    |x| (x.sin() * 2.0 + 1.0).mean(),
    |x| (-x.sin()).sum(),
    |x| (x - x.exp()).sum(),
    |x| {
        let y = x.square();
        (&y + &y).sum()
    },
    |x| (x.softmax(-1) * 3.0).mean(),
    |x| x.relu().sum() + x.max() + x.norm(2.0),
    |x| x.gt(0.5).where_(x.log(), 0.0).sum(),
    |x| x.cumsum(-1).slice((.., 0..2)).prod(),
    |x| (x / 3.0).square().sum() + x.mean_over(0).square().sum(),
    |x| (x / &Tensor::full([2, 3], 4.0)).sin().sum() + x.var_over(1).sum(),
    |x| x.pow(Tensor::from(3.0)).sum() + Tensor::from(3.0).pow(x).sum(),
    |x| x.cross_entropy(&Tensor::from([2i64, 0]).to(x.device()), &CrossEntropy::new()),
    |x| {
        let q = x.reshape([1, 2, 3]);
        q.attention(&q, &q, &Attention::new().causal()).square().sum()
    },
    |x| x.dropout(0.5, &Key::new(3)).square().sum() + x.cross(&x.flip(&[0])).square().sum(),
    |x| x.matmul(&x.t()).square().sum(),
    |x| (x * &Tensor::ones([2, 3]) + &x.full_like(2.0)).square().sum(),
];

#[test]
fn every_derivative_of_a_tensor_there_is_there() {
    let x = Tensor::from([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]]);
    let there = on_shelf(x.clone());
    let same = |name: &str, found: Tensor, right: Tensor| {
        assert_eq!(found.device(), SHELF, "{name}");
        assert!(found.to(Device::Cpu).all_close(&right, 1e-12), "{name}: {found}, not {right}");
    };
    for (number, f) in LOSSES.into_iter().enumerate() {
        let name = |what: &str| format!("{what} of loss {number}");
        same(&name("grad"), grad(f)(&there), grad(f)(&x));
        same(&name("hessian"), hessian(f)(&there), hessian(f)(&x));
        same(&name("grad of grad"), grad(|x: &Tensor| grad(f)(x).square().sum())(&there), {
            grad(|x: &Tensor| grad(f)(x).square().sum())(&x)
        });
        same(&name("jvp"), jvp(f, &there, &there).1, jvp(f, &x, &x).1);
        same(&name("laplacian"), laplacian(f)(&there), laplacian(f)(&x));
        same(&name("vmap"), vmap(grad(f))(&there.unsqueeze(0)), vmap(grad(f))(&x.unsqueeze(0)));
        let leaf = there.clone().require_grad();
        f(&leaf).backward();
        same(&name("backward"), leaf.grad().unwrap(), grad(f)(&x));
    }
    let rows = |x: &Tensor| x.softmax(-1) * 2.0;
    same("jacobian", jacobian(rows)(&there), jacobian(rows)(&x));
    same("jacfwd", jacfwd(rows)(&there), jacfwd(rows)(&x));
    same("jacrev", jacrev(rows)(&there), jacrev(rows)(&x));
    gradcheck(|x: &Tensor| x.sin().sum(), &there).unwrap();
    // What the function does not depend on.
    same("unused", grad(|_: &Tensor| Tensor::from(1.0))(&there), x.zeros_like());
    // Seeds and tangents that repeat a number come along; others have to be there.
    let ones = Tensor::ones([2, 3]);
    let double = |x: &Tensor| x * 2.0 + 1.0;
    same("vjp", vjp(double, &there).1.call(&ones), &ones * 2.0);
    same("jvp along ones", jvp(double, &there, &ones).1, &ones * 2.0);
    same("linearize", linearize(double, &there).1.apply(&ones), &ones * 2.0);
    same("hvp", hvp(|x: &Tensor| x.square().sum(), &there, &ones), &ones * 2.0);
    jet(|x: &Tensor| x.square(), &there, std::slice::from_ref(&ones), 2)
        .into_iter()
        .zip([x.square(), &x * 2.0, &ones * 2.0])
        .for_each(|(found, right)| same("jet", found, right));
    let leaf = there.clone().require_grad();
    (&leaf * 2.0).backward_with(Backward::new().seed(&ones));
    same("seeded", leaf.grad().unwrap(), &ones * 2.0);
    for error in [catch(|| jvp(double, &there, &x)).unwrap_err(), catch(|| vjp(double, &there).1.call(&x)).unwrap_err()]
    {
        assert_eq!(error.kind(), &ErrorKind::Device);
        assert!(error.suggestion().unwrap().contains("to(Device::Cuda(500))") && error.line().is_some(), "{error}");
    }
    let f = compile(LOSSES[0]).on(SHELF);
    same("hessian of a compiled call", hessian(|x: &Tensor| f.call(x))(&there), hessian(LOSSES[0])(&x));
    same("an update", &there - grad(LOSSES[0])(&there) * 0.1, &x - grad(LOSSES[0])(&x) * 0.1);
}

#[test]
fn layers_that_build_tables_run_there() {
    use wengert::nn::{Context, Layer, MultiHeadAttention};
    let layer = MultiHeadAttention::new(8, 2, &mut Key::new(1)).rotary().causal();
    let x = Tensor::randn([1, 4, 8], 3).cast(layer.in_proj_weight.dtype());
    let loss = |(layer, x): &(MultiHeadAttention, Tensor)| layer.forward(x, &mut Context::evaluation()).square().sum();
    let own = (layer, x);
    on_shelf(Tensor::from(0.0));
    let there = own.map_leaves(|leaf| leaf.to(SHELF));
    for (found, right) in grad(loss)(&there).leaves().into_iter().zip(grad(loss)(&own).leaves()) {
        assert_eq!(found.device(), SHELF);
        assert!(found.to(Device::Cpu).all_close(right, 1e-5), "{found}, not {right}");
    }
    let classes = Tensor::from([2i64, 0]);
    assert_eq!(classes.to(SHELF).one_hot(3).to(Device::Cpu), classes.one_hot(3));
}

#[test]
fn a_tensor_says_where_it_is_inside_transforms() {
    let x = on_shelf(Tensor::from([1.0, 2.0]));
    let c = Tensor::from([3.0, 4.0]);
    let f = |x: &Tensor| (x * c.to(x.device())).sum();
    assert_eq!(grad(f)(&x).to_vec::<f64>(), [3.0, 4.0]);
    assert_eq!(vmap(|x: &Tensor| x * 2.0 + Tensor::from(1.0).to(x.device()))(&x).to_vec::<f64>(), [3.0, 5.0]);
    // Where a program runs is known when it is planned.
    let g = |x: &Tensor| (x * c.to(x.device()) * x.to(x.device())).sum();
    assert_eq!(compile(grad(g)).on(SHELF).call(&x).to_vec::<f64>(), [6.0, 16.0]);
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
fn a_plan_says_what_it_uses_there_and_the_memory_of_a_device_is_counted() {
    let x = on_shelf(Tensor::zeros([1 << 12]));
    let plan = compile(|x: &Tensor| x.exp()).on(SHELF).plan(&x);
    assert_eq!(plan.usage().unwrap().launches, 3);
    assert_eq!((plan.segments().len(), plan.segments()[0].device), (1, SHELF));
    let last = "3 launches on cuda:500, compiled in 0.250 s, with 1.049 MB of workspace\n";
    assert!(plan.to_string().ends_with(last), "{plan}");
    assert!(memory::statistics_of(SHELF).unwrap().live_bytes >= 8 << 12);
    memory::reset_peak_of(SHELF).unwrap();
    assert_eq!(memory::statistics_of(Device::Cuda(999)).unwrap_err().kind(), &ErrorKind::Device);
}

#[test]
fn a_device_that_does_not_exist_is_an_error_with_a_line() {
    let (error, line) = (Tensor::from([1.0, 2.0]).try_to(Device::Cuda(999)).unwrap_err(), line!());
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(error.line().unwrap().to_string().contains(&format!("devices.rs:{line}:")), "{error}");
    assert!(error.suggestion().is_some(), "{error}");
    let error = catch(|| compile(|x: &Tensor| x * 2.0).on(Device::Cuda(999))).err().unwrap();
    assert!(error.line().is_some_and(|line| line.to_string().contains("devices.rs")), "{error}");
}

#[test]
fn a_tensor_that_is_differentiated_is_not_copied_without_its_gradient() {
    on_shelf(Tensor::from(0.0));
    let x = Tensor::from([1.0, 2.0]);
    let stays = |x: &Tensor| x.to(Device::Cpu).square().sum();
    assert_eq!(grad(stays)(&x), &x * 2.0);
    let leaf = x.clone().require_grad();
    stays(&leaf).backward();
    assert_eq!(leaf.grad().unwrap(), &x * 2.0);
    assert_eq!(vmap(|x: &Tensor| x.to(Device::Cpu).exp())(&x), x.exp());
    let leaves = |x: &Tensor| x.to(SHELF).square().sum();
    for error in [catch(|| grad(leaves)(&x)).unwrap_err(), catch(|| leaves(&leaf)).unwrap_err()] {
        assert_eq!(error.kind(), &ErrorKind::Device);
        assert!(error.suggestion().unwrap().contains("detach()"), "{error}");
    }
    assert_eq!(leaf.detach().to(SHELF).device(), SHELF);
    let error = catch(|| compile(leaves).call(&x)).unwrap_err();
    assert!(error.suggestion().unwrap().contains("on(..)"), "{error}");
}

#[test]
fn a_change_of_how_programs_are_planned_reaches_those_that_were_traced_before() {
    let f = |x: &Tensor| x.matmul(x).tanh().matmul(x).sum();
    let x = Tensor::ones([8, 8]).f32();
    let compiled = compile(f);
    compiled.call(&x);
    let free = compiled.plan(&x).total_bytes();
    let narrow = compiled.precision(Precision::Bf16);
    assert!(narrow.program(&x).to_string().contains("bf16["));
    let bounded = narrow.precision(Precision::Strict).within(free / 4);
    assert!(matches!(catch(|| bounded.call(&x)).unwrap_err().kind(), ErrorKind::Budget { .. }));
}
