//! Why a command exits with a nonzero code.

use crate::paint::Paint;
use std::fmt;
use std::io;
use std::path::Path;

/// A message for the user and the exit code that goes with it.
#[derive(Debug)]
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// An invalid request: code 2, as for any wrong argument.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: 2 }
    }

    /// A valid request that failed: code 1.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: 1 }
    }

    /// The message of this command, as it stands on standard error.
    pub fn told(&self, command: &str, paint: Paint) -> String {
        let lines: Vec<String> = self.message.lines().map(|line| paint.carets(line)).collect();
        format!("{}: {}", paint.mistake(command), lines.join("\n"))
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code
    }
}

/// A closed pipe, as in `wengert ops | head`, is not a failure: code 0 and no message.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { message: String::new(), code: 0 },
            _ => Failure::new(format!("writing failed: {error}")),
        }
    }
}

/// Writes a file; a failure names it.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
