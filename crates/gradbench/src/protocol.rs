//! The protocol: every line is a message, and is answered with one line.
//!
//! The conversation continues after any line. A request that fails is answered with `"success":false` and a reason, also if a module
//! panics. A line whose id cannot be read is answered with the id `null`, because the sender waits for an answer, and is reported on
//! standard error.

use crate::modules::{MODULES, Module, module};
use crate::run::{Function, Run};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::any::Any;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Answers lines until there are no more.
pub fn serve(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        writeln!(output, "{}", answer(&line))?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// The answer to a line, without a newline.
pub fn answer(line: &[u8]) -> String {
    let answer = match read(line) {
        Ok((id, message)) => Answer { id: Some(id), ..message.reply().unwrap_or_else(Answer::failure) },
        Err(error) => {
            eprintln!("wengert-gradbench: {error}");
            Answer::failure(error)
        }
    };
    serde_json::to_string(&answer).expect("an answer has no keys but text")
}

/// A message and its id.
fn read(line: &[u8]) -> Result<(i64, Message<'_>), String> {
    let fields = serde_json::from_slice(line).map_err(|error| format!("the line is not a JSON object: {error}"))?;
    let message = Message { fields };
    Ok((message.field("id")?, message))
}

/// The fields of a message; only those that its kind needs are decoded.
struct Message<'a> {
    fields: HashMap<String, &'a RawValue>,
}

impl<'a> Message<'a> {
    fn raw(&self, name: &str) -> Result<&'a str, String> {
        self.fields.get(name).map(|value| value.get()).ok_or_else(|| format!("the message has no {name}"))
    }

    fn field<D: DeserializeOwned>(&self, name: &str) -> Result<D, String> {
        serde_json::from_str(self.raw(name)?).map_err(|error| format!("{name}: {error}"))
    }

    fn module(&self) -> Result<&'static Module, String> {
        let name: String = self.field("module")?;
        let known = || MODULES.iter().map(|module| module.name);
        module(&name).ok_or_else(|| format!("unknown module {name:?}, expected {}", one_of(known())))
    }

    fn function(&self) -> Result<Function, String> {
        let (module, name) = (self.module()?, self.field::<String>("function")?);
        let known = || module.functions.iter().map(|(name, _)| *name);
        let unknown = || format!("unknown function {name:?} of {}, expected {}", module.name, one_of(known()));
        module.function(&name).ok_or_else(unknown)
    }

    /// The answer, without the id.
    fn reply(&self) -> Result<Answer, String> {
        match self.field::<String>("kind")?.as_str() {
            "start" => Ok(Answer { tool: Some("wengert"), ..Answer::default() }),
            "define" => self.module().map(|_| Answer { success: Some(true), ..Answer::default() }),
            "evaluate" => {
                let Run { output, nanoseconds } = run(self.function()?, self.raw("input")?)?;
                let timings = Some(Timings(nanoseconds));
                Ok(Answer { success: Some(true), output: Some(output), timings, ..Answer::default() })
            }
            "analysis" => Ok(Answer::default()),
            other => {
                let known = one_of(["start", "define", "evaluate", "analysis"].into_iter());
                Err(format!("unknown kind {other:?}, expected {known}"))
            }
        }
    }
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Runs a function; a panic is an error like any other.
fn run(function: Function, input: &str) -> Result<Run, String> {
    catch_unwind(AssertUnwindSafe(|| function(input))).unwrap_or_else(|payload| Err(message_of(&*payload)))
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let error = payload.downcast_ref::<wengert::Error>().map(ToString::to_string);
    let text = || payload.downcast_ref::<String>().cloned();
    let literal = || payload.downcast_ref::<&str>().map(ToString::to_string);
    error.or_else(text).or_else(literal).unwrap_or_else(|| "the module panicked".into())
}

/// An answer. Only the fields that are present are written, and the id.
#[derive(Default, Serialize)]
struct Answer {
    id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<Timings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Answer {
    fn failure(error: String) -> Answer {
        Answer { success: Some(false), error: Some(error), ..Answer::default() }
    }
}

/// Nanoseconds of each run.
struct Timings(Vec<u64>);

impl Serialize for Timings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Timing {
            name: &'static str,
            nanoseconds: u64,
        }
        serializer.collect_seq(self.0.iter().map(|nanoseconds| Timing { name: "evaluate", nanoseconds: *nanoseconds }))
    }
}
