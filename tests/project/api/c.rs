//! What compilers say to a program, and which names a header brings.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use super::description::{Description, Function};
use crate::folder::compiler;
use crate::sources::HEADERS;

pub fn include() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Whether a program compiles, in C and in C++; otherwise what the compiler says.
pub fn compiles(program: &str) -> Result<(), String> {
    for (language, standard) in [("c", "-std=c11"), ("c++", "-std=c++11")] {
        let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
        run(language, &[&[standard][..], &warnings].concat(), program)?;
    }
    Ok(())
}

/// The words of a header's code, without those of the headers that it includes, and the macros that it defines.
pub fn words(header: &str) -> BTreeSet<String> {
    let program = format!("#include \"{header}\"\n");
    let code = run("c++", &["-std=c++11", "-E"], &program).unwrap();
    let mut words = BTreeSet::new();
    let mut is_its = false;
    for line in code.lines() {
        // `# 12 "folder/syncedmem.h" 2`: what follows is of that file.
        if let Some(marker) = line.strip_prefix("# ") {
            is_its = marker.split('"').nth(1).is_some_and(|file| file.ends_with(&format!("/{header}")));
        } else if is_its {
            words.extend(identifiers(line));
        }
    }
    let macros = run("c++", &["-std=c++11", "-E", "-dM"], &program).unwrap();
    let names = macros.lines().filter_map(|line| line.strip_prefix("#define ")?.split([' ', '(']).next());
    words.extend(names.filter(|name| name.starts_with("SYNCEDMEM_")).map(str::to_string));
    words
}

/// The words that a header may use: those of the description, and the language's own.
pub fn known(description: &Description) -> BTreeSet<String> {
    let mut text = "typedef enum struct extern C const int32_t".to_string();
    let mut add = |word: &str| text = format!("{text} {word}");
    HEADERS.iter().for_each(|header| add(&header.guard()));
    let enumerated = description.enums.iter().flat_map(|enumeration| &enumeration.values);
    description.constants.iter().chain(enumerated).for_each(|number| add(&number.name));
    description.enums.iter().for_each(|enumeration| add(&enumeration.name));
    description.opaque.iter().for_each(|opaque| add(&opaque.name));
    for structure in &description.structs {
        add(&structure.name);
        structure.fields.iter().for_each(|field| add(&format!("{} {}", field.of, field.name)));
    }
    for Function { name, returns, parameters, .. } in description.callbacks.iter().chain(&description.functions) {
        add(&format!("{returns} {name}"));
        parameters.iter().for_each(|parameter| add(&format!("{} {}", parameter.of, parameter.name)));
    }
    identifiers(&text).collect()
}

fn identifiers(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).map(str::to_string)
}

/// What a compiler prints for a program; otherwise what it says of it.
fn run(language: &str, arguments: &[&str], program: &str) -> Result<String, String> {
    let mut command = compiler(language == "c++");
    command.args(["-x", language]).args(arguments).arg("-I").arg(include()).arg("-");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().expect("it is piped").write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
