//! The checked-in headers are those that the source gives. `UPDATE=1 cargo test --test project` writes them.

use crate::sources::HEADERS;
use crate::{api, checked_in};

#[test]
fn the_headers_are_those_that_the_source_gives() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for header in &HEADERS {
        let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
        // Enumerations are passed as numbers, so no function names them.
        config.export.include = api::enums(header);
        config.include_guard = Some(header.guard());
        config.includes.extend(header.includes.map(str::to_string));
        if let Some(top) = header.top() {
            config.header = Some(top);
            config.sys_includes.clear();
        }
        let builder = cbindgen::Builder::new().with_config(config);
        let builder = header.sources().fold(builder, |builder, file| builder.with_src(file));
        let mut generated = Vec::new();
        builder.generate().expect("the source gives a header").write(&mut generated);
        let generated = with_short_comments(&String::from_utf8(generated).unwrap());
        checked_in::is_same(&format!("include/{}", header.name), &generated);
    }
}

/// Puts a comment of one line on one line; cbindgen gives it three.
fn with_short_comments(header: &str) -> String {
    let mut lines = header.lines();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        let mut after = lines.clone();
        let is_comment = line.trim() == "/**";
        let words = after.next().filter(|_| is_comment).and_then(|words| words.trim().strip_prefix("* "));
        match words.filter(|_| after.next().is_some_and(|end| end.trim() == "*/")) {
            Some(words) => {
                text += &format!("{line} {words} */\n");
                lines = after;
            }
            None => text += &format!("{line}\n"),
        }
    }
    text
}
