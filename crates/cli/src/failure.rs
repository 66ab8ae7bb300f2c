//! Why a command ends with another code than 0.

use std::fmt;
use std::io;

/// A message for the user and the exit code that goes with it.
#[derive(Debug)]
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// The request cannot be understood: code 2, as for any wrong argument.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: 2 }
    }

    /// The request was understood and could not be fulfilled: code 1.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: 1 }
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code
    }
}

/// A reader that went away, as in `wengert ops | head`, is no failure: code 0 and no message.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { message: String::new(), code: 0 },
            _ => Failure::new(format!("writing failed: {error}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
