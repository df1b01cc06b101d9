//! The sources of the headers of the C API.

use std::path::{Path, PathBuf};

/// A header of the C API, and what it is made from.
pub struct Header {
    /// File name in include/.
    pub name: &'static str,
    /// The module whose `//!` lines are the text at the header's top; of syncedmem.h, cbindgen.toml has it.
    pub top: Option<&'static str>,
    /// The header that it includes.
    pub includes: Option<&'static str>,
    /// The files that declare what it has, in its order.
    files: &'static [&'static str],
}

/// All of them.
pub const HEADERS: [Header; 4] = [
    Header {
        name: "syncedmem.h",
        top: None,
        includes: None,
        files: &[
            "abi/status.rs",
            "abi/c/errors.rs",
            "abi/c/cuda.rs",
            "abi/c/object.rs",
            "abi/c/access.rs",
            "abi/c/transfer.rs",
            "abi/c/dlpack.rs",
            "abi/c/capsule.rs",
            "abi/c/pools.rs",
            "abi/caffe/callback.rs",
            "caffe/callback.rs",
            "abi/c/policy.rs",
            "abi/c/account.rs",
            "abi/c/stats.rs",
            "abi/c/trace.rs",
            "abi/c/caffe_host.rs",
            "abi/element.rs",
        ],
    },
    Header {
        name: "syncedmem_blob.h",
        top: Some("abi/blob/mod.rs"),
        includes: Some("syncedmem.h"),
        files: &["abi/blob/handle.rs", "abi/blob/shape.rs", "abi/blob/arrays.rs", "abi/blob/math.rs"],
    },
    Header {
        name: "syncedmem_caffe2.h",
        top: Some("abi/caffe2/mod.rs"),
        includes: Some("syncedmem.h"),
        files: &[
            "caffe2/typemeta.rs",
            "abi/caffe2/typemeta.rs",
            "abi/caffe2/tensor.rs",
            "abi/caffe2/data.rs",
            "abi/caffe2/info.rs",
            "abi/caffe2/blob.rs",
            "abi/caffe2/workspace.rs",
            "abi/caffe2/cpu.rs",
            "abi/caffe2/init_net.rs",
        ],
    },
    Header {
        name: "syncedmem_model.h",
        top: Some("abi/model/mod.rs"),
        includes: Some("syncedmem_blob.h"),
        files: &["abi/model/open.rs", "abi/model/info.rs", "abi/model/read.rs", "abi/model/blob_file.rs"],
    },
];

impl Header {
    /// The paths of its sources.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(|file| in_src(file))
    }

    /// The text at its top, as a comment of C: the lines that begin the module `top`.
    pub fn top(&self) -> Option<String> {
        let source = std::fs::read_to_string(in_src(self.top?)).unwrap();
        let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
        let text: String = lines.map(|line| format!(" *{line}\n")).collect();
        Some(format!(
            "/*\n * Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause\n \
             * Generated from the Rust source by cbindgen. Do not edit.\n *\n{text} */"
        ))
    }

    /// The macro that keeps it from being read twice.
    pub fn guard(&self) -> String {
        self.name.to_uppercase().replace('.', "_")
    }
}

fn in_src(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file)
}
