//! docs/settings.md has the tables that the code's table of settings gives. `UPDATE=1 cargo test --test project` writes them.

use syncedmem_core::settings::{RunOption, Setting, TABLES, Values};

use crate::checked_in;

const DOCUMENT: &str = "docs/settings.md";

fn values(values: Values) -> String {
    match values {
        Values::OneOf(names) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        Values::Bytes(default) => format!("{default}; bytes"),
        Values::Seconds(default) => format!("`{default}`; seconds"),
        Values::Text(what) => what.to_owned(),
    }
}

fn row(setting: &Setting) -> String {
    let option = match setting.option {
        RunOption::None => String::new(),
        _ => format!("`--{}`", setting.option_name()),
    };
    let function = setting.function.map(|function| format!("`{function}`")).unwrap_or_default();
    let cells = [format!("`{}`", setting.name()), option, values(setting.values), setting.does.to_owned(), function];
    cells.map(|cell| if cell.is_empty() { "| ".to_owned() } else { format!("| {cell} ") }).concat() + "|\n"
}

fn table(settings: &[&Setting]) -> String {
    let head =
        "| Variable | Option of `run` | Values, the default first | What it does | In C |\n|---|---|---|---|---|\n";
    head.to_owned() + &settings.iter().copied().map(row).collect::<String>()
}

#[test]
fn the_tables_of_the_document_are_those_of_the_code() {
    let written = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT)).unwrap();
    let mut document = String::new();
    for block in written.split_inclusive("\n\n") {
        if let Some((_, settings)) = TABLES.iter().find(|(title, _)| block.trim_end() == format!("## {title}")) {
            document += &format!("{}\n\n{}\n", block.trim_end(), table(settings));
        } else if !block.starts_with("| Variable |") {
            document += block;
        }
    }
    let document = document.trim_end().to_owned() + "\n";
    for (title, settings) in &TABLES {
        assert!(document.contains(&format!("## {title}\n\n{}", table(settings))), "{DOCUMENT} has no heading: {title}");
    }
    checked_in::is_same(DOCUMENT, &document);
}
