//! Prints recordings as text.

use crate::Tape;
use crate::var::misused;
use std::fmt;
use wengert_kernels::tape::Statement;

/// Number of statements shown at each end of a long recording, and of arguments shown for a wide statement.
const ENDS: usize = 20;
const ARGUMENTS: usize = 6;

/// The recording of a [`Tape`], for printing: one line per statement, with its number, the numbers of its arguments, and the partial
/// derivative with respect to each.
///
/// ```
/// use wengert_scalar::{Real, recording};
/// let text = recording(|tape| {
///     let (x, y) = (tape.input(2.0), tape.input(3.0));
///     let z = (x * y + 1.0).powi(2);
/// #   assert_eq!(z.to_f64(), 49.0);
///     tape.listing().to_string()
/// });
/// assert_eq!(text, "#1 input\n#2 input\n#3 = 3 #1 + 2 #2\n#4 = 1 #3\n#5 = 14 #4\n");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    text: String,
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Tape<'_> {
    /// The recording, for printing. A long recording is shortened to both ends, and a wide statement to its first arguments. Statement
    /// numbers are those that `{:?}` shows for a [`Var`](crate::Var).
    #[track_caller]
    pub fn listing(&self) -> Listing {
        let (count, mut text) = (self.statements(), String::new());
        let list = |range, text: &mut String| {
            self.recording().walk(range, misused, |number, statement| text.push_str(&line(number, statement)));
        };
        if count <= 2 * ENDS {
            list(0..count, &mut text);
        } else {
            list(0..ENDS, &mut text);
            text += &format!(".. {} statements ..\n", count - 2 * ENDS);
            list(count - ENDS..count, &mut text);
        }
        Listing { text }
    }

    /// Prints the [listing](Tape::listing).
    ///
    /// ```
    /// use wengert_scalar::recording;
    /// recording(|tape| {
    ///     let x = tape.input(2.0);
    ///     let _ = x * x;
    ///     tape.print_tape();
    /// });
    /// ```
    #[track_caller]
    pub fn print_tape(&self) {
        print!("{}", self.listing());
    }
}

fn line(number: u32, statement: Statement<'_>) -> String {
    match statement {
        Statement::Input => format!("#{number} input\n"),
        Statement::Computed(arguments, partials) => {
            let terms = arguments.iter().zip(partials).map(|(argument, partial)| format!("{partial} #{argument}"));
            format!("#{number} = {}\n", joined(terms, " + "))
        }
        Statement::External(output, inputs) => {
            let inputs = inputs.iter().filter(|input| **input != 0).map(|input| format!("#{input}"));
            format!("#{number} = output {output} of an external function of {}\n", joined(inputs, ", "))
        }
    }
}

/// Joins the first few pieces, and says how many more there are.
fn joined(mut pieces: impl Iterator<Item = String>, separator: &str) -> String {
    let mut shown: Vec<String> = pieces.by_ref().take(ARGUMENTS).collect();
    let more = pieces.count();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(separator)
}
