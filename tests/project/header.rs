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
        checked_in::is_same(&format!("include/{}", header.name), &String::from_utf8(generated).unwrap());
    }
}
