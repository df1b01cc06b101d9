//! Finds libraries by the rules of ld.so(8).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::object::Object;

#[derive(Debug)]
pub struct Search {
    library_path: Vec<PathBuf>,
    cache: HashMap<Vec<u8>, Vec<PathBuf>>,
    standard: Vec<PathBuf>,
}

impl Search {
    pub fn new() -> Self {
        let library_path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        // An empty entry means the working directory.
        let here = |entry: &[u8]| if entry.is_empty() { b".".to_vec() } else { entry.to_vec() };
        let entries = library_path.as_bytes().split(|&byte| byte == b':' || byte == b';');
        let library_path = match library_path.is_empty() {
            true => Vec::new(),
            false => entries.map(|entry| OsStr::from_bytes(&here(entry)).into()).collect(),
        };
        let cache = std::fs::read("/etc/ld.so.cache").map(|bytes| read_cache(&bytes)).unwrap_or_default();
        let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
        let standard = ["/lib", "/usr/lib"].iter().map(|folder| Path::new(folder).join(&multiarch));
        let standard = standard.chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from)).collect();
        Search { library_path, cache, standard }
    }

    /// The library of that name that `wanted_by` gets in `program`. Libraries for another machine are skipped, as by the linker.
    pub fn find(&self, name: &str, wanted_by: &Object, program: &Object) -> Option<Object> {
        if name.contains('/') {
            return Object::read(Path::new(name)).ok();
        }
        // The linker ignores RPATH if there is a RUNPATH.
        let mut folders = Vec::new();
        if wanted_by.runpath.is_empty() {
            for object in [wanted_by, program] {
                folders.extend(object.rpath.iter().flat_map(|folder| expand(folder, &object.path)));
            }
        }
        folders.extend(self.library_path.iter().flat_map(|folder| expand(folder.as_os_str(), &program.path)));
        folders.extend(wanted_by.runpath.iter().flat_map(|folder| expand(folder, &wanted_by.path)));
        let cached = self.cache.get(name.as_bytes()).into_iter().flatten().cloned();
        let candidates = folders.into_iter().map(|folder| folder.join(name)).chain(cached);
        let mut candidates = candidates.chain(self.standard.iter().map(|folder| folder.join(name)));
        candidates.find_map(|path| Object::read(&path).ok())
    }
}

/// Replaces the tokens of the linker; `$LIB` stands for its values on all systems.
fn expand(folder: &OsStr, of: &Path) -> Vec<PathBuf> {
    let text = folder.to_string_lossy();
    if !text.contains('$') {
        return vec![folder.into()];
    }
    let origin = std::fs::canonicalize(of).ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let origin = origin.unwrap_or_default().to_string_lossy().into_owned();
    let architecture = std::env::consts::ARCH;
    let replaced = text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
    let replaced = replaced.replace("${PLATFORM}", architecture).replace("$PLATFORM", architecture);
    let libs = [format!("lib/{architecture}-linux-gnu"), "lib64".to_owned(), "lib".to_owned()];
    if !replaced.contains("LIB") {
        return vec![OsString::from(replaced).into()];
    }
    libs.iter().map(|lib| replaced.replace("${LIB}", lib).replace("$LIB", lib).into()).collect()
}

/// Parses the cache of ldconfig(8) in the format of glibc 2.2 and later: a header of 48 bytes, then entries of 24, whose
/// second and third words are the offsets of name and path. A cache in an older format may lie before it.
fn read_cache(bytes: &[u8]) -> HashMap<Vec<u8>, Vec<PathBuf>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    let mut found: HashMap<Vec<u8>, Vec<PathBuf>> = HashMap::new();
    let Some(start) = bytes.windows(MAGIC.len()).position(|window| window == MAGIC) else { return found };
    let bytes = &bytes[start..];
    let word = |at: usize| {
        let word = bytes.get(at..at + 4)?;
        Some(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]) as usize)
    };
    let text = |at: usize| bytes.get(at..)?.split(|&byte| byte == 0).next();
    for index in 0..word(MAGIC.len()).unwrap_or(0) {
        let entry = HEADER + index * ENTRY;
        let (Some(name), Some(path)) = (word(entry + 4).and_then(text), word(entry + 8).and_then(text)) else { break };
        found.entry(name.to_vec()).or_default().push(OsStr::from_bytes(path).into());
    }
    found
}

/// The program of that name on PATH, or at that path.
pub fn program(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return path.exists().then_some(path);
    }
    programs(name).into_iter().next()
}

pub fn programs(name: &OsStr) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/bin:/usr/bin".into());
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|folder| folder.join(name)).filter(is_program).collect()
}
