//! The arguments of one recorded call, for adapters.
//!
//! A number, word or tensor is looked up by its keyword or its position (0 is the first argument after the input); `None` counts as
//! missing. An accessor without a default panics with the argument's name if it is missing.

use serde_json::Value;
use wengert::prelude::*;

/// One argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// Absent, or Python's `None`.
    None,
    Flag(bool),
    Number(f64),
    Word(String),
    Tensor(Tensor),
    List(Vec<Arg>),
    /// `start:stop:step` between brackets.
    Slice(Option<isize>, Option<isize>, Option<isize>),
}

/// A call of an operation: the input, the positional and the keyword arguments.
#[derive(Clone)]
pub struct Call {
    input: Arg,
    args: Vec<Arg>,
    kwargs: Vec<(String, Arg)>,
    /// The rank of each recorded output.
    ranks: Vec<usize>,
}

// The accessors serve all families; which of them are used changes with the adapters.
#[allow(dead_code)]
impl Call {
    pub fn new(record: &Value) -> Call {
        let [input, args, kwargs, outputs] = ["input", "args", "kwargs", "outputs"].map(|part| &record[part]);
        let rank = |output: &Value| output["t"]["shape"].as_array().map_or(0, Vec::len);
        let kwargs = kwargs.as_object().expect("kwargs is an object");
        Call {
            input: argument(input),
            args: args.as_array().expect("args is a list").iter().map(argument).collect(),
            kwargs: kwargs.iter().map(|(name, value)| (name.clone(), argument(value))).collect(),
            ranks: outputs.as_array().expect("outputs is a list").iter().map(rank).collect(),
        }
    }

    /// The rank of each recorded output: it tells which outputs of a decomposition were recorded.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// The input, a tensor.
    #[track_caller]
    pub fn input(&self) -> &Tensor {
        self.input.tensor().expect("the input is a tensor")
    }

    /// The input, a list of tensors.
    #[track_caller]
    pub fn inputs(&self) -> Vec<Tensor> {
        self.input.tensors().expect("the input is a list of tensors")
    }

    /// The input and all positional tensors after it, for calls with any number of operands.
    pub fn all_tensors(&self) -> Vec<Tensor> {
        std::iter::once(&self.input).chain(&self.args).filter_map(Arg::tensor).cloned().collect()
    }

    /// The argument of this keyword or at this position.
    pub fn arg(&self, name: &str, position: usize) -> Option<&Arg> {
        let named = self.kwargs.iter().find(|(key, _)| key == name).map(|(_, arg)| arg);
        named.or_else(|| self.args.get(position)).filter(|arg| !matches!(arg, Arg::None))
    }

    /// The argument at this position.
    pub fn positional(&self, position: usize) -> Option<&Arg> {
        self.arg("", position)
    }

    #[track_caller]
    fn found<T>(&self, what: &str, name: &str, position: usize, read: impl Fn(&Arg) -> Option<T>) -> T {
        match self.arg(name, position).map(read) {
            Some(Some(value)) => value,
            Some(None) => panic!("argument {name} (position {position}) is not {what}: {:?}", self.arg(name, position)),
            None => panic!("there is no argument {name} (position {position})"),
        }
    }

    /// The tensor at this position.
    #[track_caller]
    pub fn tensor(&self, position: usize) -> &Tensor {
        let found = self.args.get(position).and_then(Arg::tensor);
        found.unwrap_or_else(|| panic!("argument {position} is not a tensor: {:?}", self.args.get(position)))
    }

    /// The tensor of this keyword.
    #[track_caller]
    pub fn kw_tensor(&self, name: &str) -> &Tensor {
        self.opt_tensor(name, usize::MAX).unwrap_or_else(|| panic!("there is no tensor {name}"))
    }

    /// The tensor of this keyword or position, if there is one.
    pub fn opt_tensor(&self, name: &str, position: usize) -> Option<&Tensor> {
        self.arg(name, position).and_then(Arg::tensor)
    }

    /// The list of tensors at this position.
    #[track_caller]
    pub fn tensors(&self, name: &str, position: usize) -> Vec<Tensor> {
        self.found("a list of tensors", name, position, Arg::tensors)
    }

    /// An integer of either sign, such as an axis.
    #[track_caller]
    pub fn int(&self, name: &str, position: usize) -> isize {
        self.found("an integer", name, position, Arg::int)
    }

    #[track_caller]
    pub fn int_or(&self, name: &str, position: usize, default: isize) -> isize {
        self.opt_int(name, position).unwrap_or(default)
    }

    pub fn opt_int(&self, name: &str, position: usize) -> Option<isize> {
        self.arg(name, position).and_then(Arg::int)
    }

    /// A count.
    #[track_caller]
    pub fn size(&self, name: &str, position: usize) -> usize {
        usize::try_from(self.int(name, position)).expect("a count is not negative")
    }

    #[track_caller]
    pub fn size_or(&self, name: &str, position: usize, default: usize) -> usize {
        self.opt_int(name, position).map_or(default, |number| usize::try_from(number).expect("a count"))
    }

    /// Integers; a single one is a list of one.
    #[track_caller]
    pub fn ints(&self, name: &str, position: usize) -> Vec<isize> {
        self.found("a list of integers", name, position, Arg::ints)
    }

    pub fn opt_ints(&self, name: &str, position: usize) -> Option<Vec<isize>> {
        self.arg(name, position).and_then(Arg::ints)
    }

    /// Counts, as in a shape; a single one is a list of one.
    #[track_caller]
    pub fn sizes(&self, name: &str, position: usize) -> Vec<usize> {
        self.ints(name, position).into_iter().map(|number| number.try_into().expect("a count")).collect()
    }

    pub fn opt_sizes(&self, name: &str, position: usize) -> Option<Vec<usize>> {
        self.opt_ints(name, position).map(|list| list.into_iter().map(|n| n.try_into().expect("a count")).collect())
    }

    /// A shape from this position on: one list, or one number for each axis.
    #[track_caller]
    pub fn shape(&self, position: usize) -> Vec<usize> {
        match self.args.get(position) {
            Some(Arg::List(_)) => self.sizes("", position),
            _ => (position..self.args.len()).map(|position| self.size("", position)).collect(),
        }
    }

    /// A real number, possibly infinite.
    #[track_caller]
    pub fn real(&self, name: &str, position: usize) -> f64 {
        self.found("a number", name, position, Arg::real)
    }

    pub fn real_or(&self, name: &str, position: usize, default: f64) -> f64 {
        self.opt_real(name, position).unwrap_or(default)
    }

    pub fn opt_real(&self, name: &str, position: usize) -> Option<f64> {
        self.arg(name, position).and_then(Arg::real)
    }

    /// A boolean; false if missing.
    pub fn flag(&self, name: &str, position: usize) -> bool {
        self.flag_or(name, position, false)
    }

    pub fn flag_or(&self, name: &str, position: usize, default: bool) -> bool {
        self.arg(name, position).and_then(Arg::flag).unwrap_or(default)
    }

    /// A word, such as the name of a reduction.
    #[track_caller]
    pub fn word(&self, name: &str, position: usize) -> &str {
        self.opt_word(name, position).unwrap_or_else(|| panic!("there is no word {name} (position {position})"))
    }

    pub fn word_or<'c>(&'c self, name: &str, position: usize, default: &'c str) -> &'c str {
        self.opt_word(name, position).unwrap_or(default)
    }

    pub fn opt_word(&self, name: &str, position: usize) -> Option<&str> {
        self.arg(name, position).and_then(Arg::word)
    }

    /// The shapes of all floating-point tensors, in the order of the record.
    pub fn float_shapes(&mut self) -> Vec<Vec<usize>> {
        self.floats().iter().map(|tensor| tensor.shape().to_vec()).collect()
    }

    /// Turns the floating-point tensors at these positions into leaves.
    pub fn require_grad(&mut self, places: &[usize]) -> Vec<Tensor> {
        let mut floats = self.floats();
        let mut leaf = |&place: &usize| {
            *floats[place] = floats[place].clone().require_grad();
            floats[place].clone()
        };
        places.iter().map(&mut leaf).collect()
    }

    /// The same call with other tensors at these positions among the floating-point ones.
    pub fn with_floats(&self, places: &[usize], tensors: &[Tensor]) -> Call {
        let mut call = self.clone();
        let mut floats = call.floats();
        places.iter().zip(tensors).for_each(|(&place, tensor)| *floats[place] = tensor.clone());
        call
    }

    fn floats(&mut self) -> Vec<&mut Tensor> {
        let mut found = Vec::new();
        self.input.floats(&mut found);
        self.args.iter_mut().for_each(|arg| arg.floats(&mut found));
        self.kwargs.iter_mut().for_each(|(_, arg)| arg.floats(&mut found));
        found
    }
}

#[allow(dead_code)]
impl Arg {
    pub fn tensor(&self) -> Option<&Tensor> {
        if let Arg::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    pub fn list(&self) -> Option<&[Arg]> {
        if let Arg::List(list) = self { Some(list) } else { None }
    }

    pub fn tensors(&self) -> Option<Vec<Tensor>> {
        self.list()?.iter().map(|arg| arg.tensor().cloned()).collect()
    }

    pub fn flag(&self) -> Option<bool> {
        if let Arg::Flag(flag) = self { Some(*flag) } else { None }
    }

    /// A tensor without axes counts as its value.
    pub fn int(&self) -> Option<isize> {
        match self {
            Arg::Number(number) if number.fract() == 0.0 => Some(*number as isize),
            Arg::Tensor(tensor) if tensor.rank() == 0 && tensor.dtype().is_integer() => Some(tensor.item() as isize),
            _ => None,
        }
    }

    /// A vector counts as the list of its elements.
    pub fn ints(&self) -> Option<Vec<isize>> {
        match self {
            Arg::List(list) => list.iter().map(Arg::int).collect(),
            Arg::Tensor(tensor) if tensor.rank() == 1 && tensor.dtype().is_integer() => {
                Some(tensor.to_f64_vec().into_iter().map(|number| number as isize).collect())
            }
            single => Some(vec![single.int()?]),
        }
    }

    /// Infinities and NaN are recorded as words, booleans as themselves.
    pub fn real(&self) -> Option<f64> {
        match self {
            Arg::Number(number) => Some(*number),
            Arg::Flag(flag) => Some(f64::from(u8::from(*flag))),
            Arg::Word(word) => non_finite(word),
            _ => None,
        }
    }

    pub fn word(&self) -> Option<&str> {
        if let Arg::Word(word) = self { Some(word) } else { None }
    }

    fn floats<'a>(&'a mut self, found: &mut Vec<&'a mut Tensor>) {
        match self {
            Arg::Tensor(tensor) if tensor.dtype().is_float() => found.push(tensor),
            Arg::List(list) => list.iter_mut().for_each(|arg| arg.floats(found)),
            _ => {}
        }
    }
}

fn argument(value: &Value) -> Arg {
    match value {
        Value::Null => Arg::None,
        Value::Bool(flag) => Arg::Flag(*flag),
        Value::Number(number) => Arg::Number(number.as_f64().expect("a number")),
        Value::String(word) => Arg::Word(word.clone()),
        Value::Array(list) => Arg::List(list.iter().map(argument).collect()),
        Value::Object(fields) => {
            if fields.contains_key("t") {
                return Arg::Tensor(tensor(value));
            }
            if let Some(dtype) = fields.get("dtype") {
                return Arg::Word(dtype.as_str().expect("the name of a dtype").to_string());
            }
            let parts = fields.get("slice").and_then(Value::as_array).expect("a tensor, a dtype or a slice");
            let part = |index: usize| parts.get(index).and_then(Value::as_i64).map(|number| number as isize);
            Arg::Slice(part(0), part(1), part(2))
        }
    }
}

/// A recorded tensor.
pub fn tensor(value: &Value) -> Tensor {
    let fields = &value["t"];
    let shape: Vec<usize> = fields["shape"].as_array().expect("a shape").iter().map(size).collect();
    let data: Vec<f64> = fields["data"].as_array().expect("numbers").iter().map(number).collect();
    let whole = |numbers: Vec<f64>| numbers.into_iter().map(|number| number as i64).collect::<Vec<i64>>();
    match fields["dtype"].as_str().expect("a dtype") {
        "float64" => Tensor::from_vec(data, shape),
        "float32" => Tensor::from_vec(data, shape).cast(DType::F32),
        "int64" => Tensor::from_vec(whole(data), shape),
        "int32" => Tensor::from_vec(whole(data), shape).cast(DType::I32),
        "uint8" => Tensor::from_vec(whole(data), shape).cast(DType::U8),
        "bool" => Tensor::from_vec(data.into_iter().map(|number| number != 0.0).collect::<Vec<bool>>(), shape),
        other => panic!("dtype {other} is not known"),
    }
}

fn size(value: &Value) -> usize {
    value.as_u64().expect("a size") as usize
}

fn number(value: &Value) -> f64 {
    value.as_f64().or_else(|| non_finite(value.as_str()?)).expect("a number")
}

fn non_finite(word: &str) -> Option<f64> {
    match word {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}
