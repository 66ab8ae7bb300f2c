//! Compiles and runs C programs.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The C compiler of this system, if there is one.
pub fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let found = Command::new(&name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success()).then_some(name)
}

/// A running program that answers requests.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    folder: PathBuf,
}

impl Process {
    /// Compiles a program and starts it.
    pub fn new(name: &str, text: &str) -> Process {
        let folder = std::env::temp_dir().join(format!("wengert-c-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (source, program) = (folder.join("loops.c"), folder.join("loops"));
        fs::write(&source, text).unwrap();
        let mut command = Command::new(compiler().expect("asked before"));
        // Products and sums are rounded separately, as ours are.
        command.args(["-O1", "-ffp-contract=off", "-o"]).arg(&program).arg(&source).arg("-lm");
        let built = command.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Process { child, input, output, folder }
    }

    /// The outputs, of these lengths, of the loop with this number.
    pub fn call(&mut self, number: usize, operands: &[Vec<u8>], lengths: &[usize]) -> Vec<Vec<u8>> {
        let input = self.input.as_mut().expect("it runs");
        input.write_all(&(number as u32).to_ne_bytes()).unwrap();
        operands.iter().for_each(|bytes| input.write_all(bytes).unwrap());
        input.flush().unwrap();
        let mut read = |length: &usize| {
            let mut bytes = vec![0; *length];
            self.output.read_exact(&mut bytes).unwrap();
            bytes
        };
        lengths.iter().map(&mut read).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It exits when its input is closed.
        self.input = None;
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
