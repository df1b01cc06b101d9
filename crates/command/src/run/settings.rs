//! The library's settings as options, with the same words.

use std::env::var_os;
use std::ffi::OsString;

use clap::Args;

use crate::report::number_of_bytes;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings of the library (docs/settings.md says more about each)")]
pub struct Settings {
    /// Let memory share whose contents are dead: in training the gradients of activations and layers' scratch, or all, also
    /// activations [default without a value: all].
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    #[arg(value_parser = ["off", "gradients", "all"])]
    share: Option<String>,
    /// Keep these blobs, or a layer's memory ("pool1 internal"), apart from what --share shares, so that they can be used after a pass.
    #[arg(long, value_name = "BLOB,…")]
    keep: Option<OsString>,
    /// Take over each Caffe that calls its own functions directly, by a jump at the entry of each. [default: if the files of the
    /// program show one]
    #[arg(long)]
    take_over: bool,
    /// The most that the recording of each process takes; then the oldest events give way [default: 256M].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    trace_size: Option<String>,
    /// Fill host memory whose contents are undefined with 0x7fedbeef, NaN as a float.
    #[arg(long)]
    junk_fill: bool,
    /// On a failure: end the process as Caffe does, or throw a C++ exception (MemoryError in Python).
    #[arg(long, value_name = "HOW", value_parser = ["abort", "throw"])]
    on_error: Option<String>,
    /// Page-locked host memory: in GPU mode, always, or never.
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pin: Option<String>,
    /// Take this for Caffe::mode().
    #[arg(long, value_name = "MODE", value_parser = ["auto", "cpu", "gpu"])]
    mode: Option<String>,
    /// Limit of the memory of each kind that is kept for reuse; 0 keeps none.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pool_budget: Option<String>,
    /// Time after which an unused pageable block is unmapped.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pool_age: Option<String>,
    /// Limit of all page-locked memory: digits, and K, M, G or T.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pinned_limit: Option<String>,
    /// Limit of the host memory that objects hold; more is an error.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    host_limit: Option<String>,
    /// Source of host blocks: with malloc, free() takes each one, for mixed bindings.
    #[arg(long, value_name = "HOW", value_parser = ["auto", "malloc"])]
    host_blocks: Option<String>,
}

impl Settings {
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        self.all().into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// An error: what is set, here or in the environment, excludes what else is.
    pub fn check(&self) -> Result<(), String> {
        let set =
            |option: &Option<String>, name| option.clone().map_or_else(|| var_os(name), |given| Some(given.into()));
        let shares = set(&self.share, "SYNCEDMEM_SHARE").is_some_and(|what| what == "all" || what == "gradients");
        if shares && set(&self.host_blocks, "SYNCEDMEM_HOST_BLOCKS").is_some_and(|how| how == "malloc") {
            return Err("--share and --host-blocks malloc exclude each other (also as SYNCEDMEM_SHARE and SYNCEDMEM_HOST_BLOCKS): \
                        free() cannot free memory that is shared; leave out one of them"
                .to_owned());
        }
        Ok(())
    }

    pub fn all(&self) -> [(&'static str, Option<OsString>); 13] {
        let given = |text: &Option<String>| text.clone().map(OsString::from);
        [
            ("SYNCEDMEM_SHARE", given(&self.share)),
            ("SYNCEDMEM_KEEP", self.keep.clone()),
            ("SYNCEDMEM_TAKE_OVER", self.take_over.then(|| "1".into())),
            ("SYNCEDMEM_TRACE_SIZE", given(&self.trace_size)),
            ("SYNCEDMEM_JUNK_FILL", self.junk_fill.then(|| "on".into())),
            ("SYNCEDMEM_ON_ERROR", given(&self.on_error)),
            ("SYNCEDMEM_PIN", given(&self.pin)),
            ("SYNCEDMEM_MODE", given(&self.mode)),
            ("SYNCEDMEM_POOL_BUDGET", given(&self.pool_budget)),
            ("SYNCEDMEM_POOL_AGE", given(&self.pool_age)),
            ("SYNCEDMEM_PINNED_LIMIT", given(&self.pinned_limit)),
            ("SYNCEDMEM_HOST_LIMIT", given(&self.host_limit)),
            ("SYNCEDMEM_HOST_BLOCKS", given(&self.host_blocks)),
        ]
    }
}

/// As the library reads it.
fn bytes(text: &str) -> Result<String, String> {
    number_of_bytes(text)
        .map(|_| text.to_owned())
        .ok_or_else(|| "give digits, and K, M, G or T if you like: 1500M".to_owned())
}

/// As the library reads it.
fn seconds(text: &str) -> Result<String, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 => Ok(text.to_owned()),
        _ => Err("give a number of seconds: 2.5".to_owned()),
    }
}
