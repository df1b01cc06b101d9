//! Finds the library that programs are run on.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::doctor::object::Object;
use crate::doctor::search::Search;

/// Names of the library. A build folder has only the first.
const NAMES: [&str; 2] = ["libsyncedmem.so", "libsyncedmem.so.0"];

#[derive(Debug)]
pub struct NotFound {
    named_by: Option<&'static str>,
    looked_in: Vec<PathBuf>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        if let Some(named_by) = self.named_by {
            let path = self.looked_in.first().map(|path| path.display().to_string()).unwrap_or_default();
            return write!(formatter, "{named_by}: {path} is not libsyncedmem.so; name the file, or its folder");
        }
        formatter.write_str("libsyncedmem.so is in none of these folders:\n")?;
        for folder in &self.looked_in {
            writeln!(formatter, "  {}", folder.display())?;
        }
        formatter.write_str(
            "Name it with --library PATH or SYNCEDMEM_LIBRARY=PATH, or build it: cargo build --release --lib",
        )
    }
}

/// The absolute path of the named library, or of the one that belongs to this command.
pub fn find(named: Option<&Path>) -> Result<PathBuf, NotFound> {
    let variable = std::env::var_os("SYNCEDMEM_LIBRARY").filter(|value| !value.is_empty()).map(PathBuf::from);
    let given = named.map(|path| (path.to_path_buf(), "--library"));
    if let Some((path, named_by)) = given.or(variable.map(|path| (path, "SYNCEDMEM_LIBRARY"))) {
        let inside = NAMES.iter().map(|name| path.join(name));
        let found = std::iter::once(path.clone()).chain(inside).find_map(|path| ours(&path));
        return found.ok_or(NotFound { named_by: Some(named_by), looked_in: vec![path] });
    }
    let mut folders = Vec::new();
    // The folder of this program, and that of a link to it.
    for program in
        [std::env::current_exe().ok().and_then(|path| path.canonicalize().ok()), std::env::current_exe().ok()]
    {
        let Some(bin) = program.as_deref().and_then(Path::parent) else { continue };
        folders.push(bin.to_path_buf());
        if let Some(prefix) = bin.parent() {
            let multiarch = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
            folders.extend(["lib", "lib64", multiarch.as_str()].map(|lib| prefix.join(lib)));
        }
    }
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    let found = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name))).find_map(|path| ours(&path));
    found.or_else(installed).ok_or_else(|| {
        folders.push("the dynamic linker's folders".into());
        NotFound { named_by: None, looked_in: folders }
    })
}

/// The path of libsyncedmem_net.so: beside the library or, in a build folder, beside this command.
pub fn net(library: &Path) -> Option<PathBuf> {
    let command = std::env::current_exe().ok();
    let beside = [Some(library), command.as_deref()].into_iter().flatten();
    beside.map(|file| file.with_file_name("libsyncedmem_net.so")).find(|file| file.is_file())
}

fn installed() -> Option<PathBuf> {
    let none = Object::default();
    let found = NAMES.iter().find_map(|name| Search::new().find(name, &none, &none))?;
    ours(&found.path)
}

fn ours(path: &Path) -> Option<PathBuf> {
    let object = Object::read(path).ok()?;
    if object.is_ours { path.canonicalize().ok() } else { None }
}
