//! What the process is, and what bounded its memory.

use super::html::Html;
use crate::report::facts::Process;

pub fn write(html: &mut Html, process: &Process) {
    let lines = process.about.lines();
    if lines.is_empty() {
        return;
    }
    html.markup("<details class=\"about\"><summary>The process</summary><dl>");
    for (name, value) in lines {
        html.markup("<dt>").text(name).markup("</dt><dd><bdi>").text(value).markup("</bdi></dd>");
    }
    html.markup("</dl></details>");
}
