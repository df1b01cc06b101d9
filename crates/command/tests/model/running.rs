//! Runs `syncedmem model` in a test's own folder.

use std::process::Command;

use crate::support::*;

pub trait Running {
    /// Writes a file; returns its name in the folder.
    fn named(&self, name: &str, contents: &[u8]) -> String;
    /// Runs `syncedmem model` in the folder: status, output and error.
    fn model(&self, arguments: &[&str]) -> (i32, String, String);
}

impl Running for Folder {
    fn named(&self, name: &str, contents: &[u8]) -> String {
        self.file(name, contents);
        name.to_string()
    }

    fn model(&self, arguments: &[&str]) -> (i32, String, String) {
        said(Command::new(env!("CARGO_BIN_EXE_syncedmem")).arg("model").args(arguments).current_dir(&self.0))
    }
}

pub fn said(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A net of floats, halves and doubles.
pub fn small() -> Vec<u8> {
    let fc = [legacy(&[1, 1, 2, 2]), bytes(5, f32_bytes(&[1.0, -2.5, 0.25, 4.0]))].concat();
    let half = [number(10, 2), bytes(12, [0, 0x3c, 0, 0xc0]), shape(&[2])].concat();
    let double = [bytes(8, f64_bytes(&[1e-9])), shape(&[])].concat();
    let conv = [blob(&[2, 1], &[0.5, 8.0]), half, double];
    [
        bytes(1, "small"),
        layer("relu", "ReLU", &[]),
        layer("conv1", "Convolution", &conv),
        layer("fc", "InnerProduct", &[fc]),
    ]
    .concat()
}

/// On a disk that is full after so many KiB.
pub fn up_to(kib: u64, folder: &Folder, arguments: &str) -> (i32, String) {
    let script = format!("ulimit -f {kib}; exec \"$0\" model {arguments}");
    let mut bash = Command::new("bash");
    let (status, _, error) = said(bash.args(["-c", &script, env!("CARGO_BIN_EXE_syncedmem")]).current_dir(&folder.0));
    (status, error)
}
