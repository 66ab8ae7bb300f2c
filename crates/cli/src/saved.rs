//! Running saved programs.

use crate::failure::{Failure, write_file};
use crate::nearest::shortened;
use crate::paint::Paint;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use wengert::prelude::*;
use wengert::primitive::Spec;
use wengert::view::json::{array, number, object, string};
use wengert::view::{Explorer, doctor, program, run as run_graph};

/// Shows the inputs and outputs of a saved program or, given the elements of its inputs, runs it.
pub fn run(path: &Path, inputs: &[String], json: bool, paint: Paint, out: &mut dyn Write) -> Result<(), Failure> {
    let loaded = load(path)?;
    let specs: Vec<(&str, &Spec)> = loaded.inputs().collect();
    if inputs.is_empty() && !specs.is_empty() {
        if json {
            let mut line =
                |kind: &str, name: &str, spec: &Spec| writeln!(out, "{}", object(&described(kind, name, spec)));
            specs.iter().try_for_each(|(name, spec)| line("input", name, spec))?;
            loaded.outputs().try_for_each(|(name, spec)| line("output", name, spec))?;
            return Ok(writeln!(out, "{}", object(&[("program", string(&loaded.program().to_string()))]))?);
        }
        specs.iter().try_for_each(|(name, spec)| writeln!(out, "input  {}", called(name, spec)))?;
        loaded.outputs().try_for_each(|(name, spec)| writeln!(out, "output {}", called(name, spec)))?;
        return Ok(write!(out, "{}", loaded.program())?);
    }
    let outputs = loaded.call(&tensors(path, &specs, inputs)?).map_err(|error| Failure::new(in_words(&error)))?;
    for ((name, spec), output) in loaded.outputs().zip(outputs) {
        match json {
            false => writeln!(out, "{} =\n{output}", paint.heading(&called(name, spec)))?,
            true => {
                let mut fields = described("output", name, spec);
                fields.push(("elements", elements(&output)));
                writeln!(out, "{}", object(&fields))?;
            }
        }
    }
    Ok(())
}

/// Writes a page about a saved program: with all values of a run, if the elements of its inputs are given.
pub fn explore(path: &Path, inputs: &[String], page: &Path) -> Result<(), Failure> {
    let loaded = load(path)?;
    let specs: Vec<(&str, &Spec)> = loaded.inputs().collect();
    let explorer = if inputs.is_empty() && !specs.is_empty() {
        Explorer::new(program(loaded.program()))
    } else {
        let inputs = tensors(path, &specs, inputs)?;
        let call = |inputs: &Vec<Tensor>| loaded.call(inputs).unwrap_or_else(|error| error.raise());
        let run = catch(|| compile(call).debug().run(&inputs)).map_err(|error| Failure::new(in_words(&error)))?;
        Explorer::new(run_graph(&run))
    };
    let plan = loaded.program().optimised().plan();
    write_file(page, &explorer.plan(&plan).passes(loaded.program()).titled(path.display().to_string()).html())
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path).map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
}

#[cfg(not(unix))]
fn is_device(_: &Path) -> bool {
    false
}

/// Reads a saved program. A device holds none, and may have no end.
fn load(path: &Path) -> Result<Loaded, Failure> {
    if is_device(path) {
        return Err(Failure::new(format!("load: {}: it is a device", path.display())));
    }
    Program::load(path).map_err(|error| Failure::new(in_words(&error)))
}

/// An input or output as fields of JSON.
fn described<'k>(kind: &'k str, name: &str, spec: &Spec) -> Vec<(&'k str, String)> {
    let shape = array(spec.shape.iter().map(ToString::to_string));
    vec![(kind, string(name)), ("shape", shape), ("dtype", string(&spec.dtype.to_string()))]
}

/// The elements in row-major order as JSON.
fn elements(tensor: &Tensor) -> String {
    match tensor.dtype().is_float() {
        true => array(tensor.to_f64_vec().into_iter().map(number)),
        false => array(tensor.cast(DType::I64).to_vec::<i64>().iter().map(ToString::to_string)),
    }
}

/// The inputs of a program, from their texts.
fn tensors(path: &Path, specs: &[(&str, &Spec)], inputs: &[String]) -> Result<Vec<Tensor>, Failure> {
    if inputs.len() != specs.len() {
        let message = format!("{} takes {} inputs, {} are given", path.display(), specs.len(), inputs.len());
        return Err(Failure::usage(format!("{message}\n  `wengert run FILE` alone tells which")));
    }
    specs.iter().zip(inputs).map(|((name, spec), text)| tensor(name, spec, text)).collect()
}

/// Examines the gradient of a saved program with respect to its inputs. The loss is its first number, or the sum of its outputs.
pub fn diagnose(path: &Path, inputs: &[String], json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let loaded = load(path)?;
    let specs: Vec<(&str, &Spec)> = loaded.inputs().collect();
    let inputs = tensors(path, &specs, inputs)?;
    // Integers are data.
    let names = specs.iter().map(|(name, _)| name.to_string());
    let floats: Floats = names.zip(inputs.iter().cloned()).filter(|(_, input)| input.dtype().is_float()).collect();
    let loss = |floats: &Floats| {
        let own = |((name, _), input): (&(&str, &Spec), &Tensor)| floats.get(*name).unwrap_or(input).clone();
        let outputs = loaded.call(&specs.iter().zip(&inputs).map(own).collect::<Vec<Tensor>>());
        let outputs = outputs.unwrap_or_else(|error| error.raise());
        let outputs: Vec<Tensor> = outputs.into_iter().filter(|output| output.dtype().is_float()).collect();
        match outputs.iter().find(|output| output.rank() == 0) {
            Some(number) => number.clone(),
            None => outputs.iter().map(|output| output.sum().f64()).sum(),
        }
    };
    let diagnosis = doctor(loss, &floats);
    match json {
        true => writeln!(out, "{}", diagnosis.json())?,
        false => write!(out, "{diagnosis}")?,
    }
    match diagnosis.is_healthy() {
        true => Ok(()),
        false => Err(Failure::new("something is wrong")),
    }
}

/// The float inputs of a program by their names.
type Floats = BTreeMap<String, Tensor>;

/// The text of an error, without a source line of this command.
fn in_words(error: &Error) -> String {
    let help = error.suggestion().map(|help| format!("\n  {help}")).unwrap_or_default();
    format!("{}: {}{help}", error.operation(), error.message())
}

fn called(name: &str, spec: &Spec) -> String {
    format!("'{name}': {spec}")
}

/// Parses row-major elements separated by commas or blanks; a single one is repeated.
fn tensor(name: &str, spec: &Spec, text: &str) -> Result<Tensor, Failure> {
    let wrong = |what: String| Failure::usage(format!("input {}: {what}", called(name, spec)));
    let words: Vec<&str> = text.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let elements = spec.shape.elements();
    if words.len() != elements && words.len() != 1 {
        return Err(wrong(format!("{} numbers for {elements} elements", words.len())));
    }
    let given = match spec.dtype {
        dtype if dtype.is_float() => parsed::<f64>(&words).map(Tensor::from),
        _ => parsed::<i64>(&words).map(Tensor::from),
    };
    let given = given.map_err(|word| wrong(format!("'{word}' is no {}", spec.dtype)))?;
    let is_too_large =
        |word: &&&str| word.parse().is_ok_and(f64::is_infinite) && !word.to_ascii_lowercase().contains("inf");
    if let Some(word) = words.iter().find(is_too_large) {
        return Err(wrong(format!("'{}' is too large for {}", shortened(word), spec.dtype)));
    }
    let tensor = catch(|| given.cast(spec.dtype)).map_err(|error| wrong(in_words(&error)))?;
    if !spec.dtype.is_float() && tensor.cast(DType::I64) != given {
        return Err(wrong(format!("'{}' has a number that is no {}", shortened(text), spec.dtype)));
    }
    let shape = spec.shape.clone();
    catch(|| if words.len() == elements { tensor.reshape(shape) } else { tensor.reshape([]).broadcast_to(shape) })
        .map_err(|error| wrong(in_words(&error)))
}

/// The numbers, or the first word that is none.
fn parsed<T: FromStr>(words: &[&str]) -> Result<Vec<T>, String> {
    words.iter().map(|word| word.parse().map_err(|_| shortened(word))).collect()
}
