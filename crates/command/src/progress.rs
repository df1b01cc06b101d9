//! A bar while much is read.

use indicatif::{ProgressBar, ProgressStyle};

/// Less takes no noticeable time.
const SHOW_BYTES: u64 = 128 << 20;

/// indicatif draws on terminals only.
pub fn bar(bytes: u64, doing: &'static str) -> ProgressBar {
    if bytes < SHOW_BYTES {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(bytes).with_message(doing);
    // The template is a constant; an invalid one would leave the default bar.
    match ProgressStyle::with_template("{msg} {bar:30} {bytes} of {total_bytes}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
