//! The resolver on programs that are compiled here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::files;
use super::{Frame, Module, Resolver};

/// `outer` calls `inlined`, which calls `inner`, in the last line of each.
const PROGRAM: &str = "\
namespace net {
__attribute__((noinline)) int inner(int n) {
  return n + 1;
}
__attribute__((always_inline)) inline int inlined(int n) {
  return inner(n) * 3;
}
template <class T> struct Layer {
  __attribute__((noinline)) static int outer(int n, T) {
    return inlined(n) * 5;
  }
};
}
int main(int n, char **) {
  return net::Layer<float>::outer(n, 2);
}
";

const BIAS: u64 = 0x7f12_3456_7000;
/// `net::Layer<float>::outer(int, float)`, and what a demangler makes of it.
const OUTER: &str = "_ZN3net5LayerIfE5outerEif";

/// Removed at the test's end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("syncedmem-frames-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("program.cpp"), PROGRAM).unwrap();
        Folder(folder)
    }

    fn run(&self, program: &str, arguments: &str) -> PathBuf {
        let done = Command::new(program).args(arguments.split_whitespace()).current_dir(&self.0).output().unwrap();
        assert!(done.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&done.stderr));
        self.0.join("program")
    }

    fn compile(&self, options: &str) -> PathBuf {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
        self.run(&compiler, &format!("-O1 -Wl,--build-id {options} -o program program.cpp"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed does not fail the test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn build_id(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    object::File::parse(&*bytes).unwrap().build_id().unwrap().unwrap_or_default().to_vec()
}

/// The addresses in a function of a file, from the second one on: a return address is never the first.
fn addresses(path: &Path, function: &str) -> Vec<u64> {
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(function)).unwrap();
    (symbol.address() + 1..symbol.address() + symbol.size()).collect()
}

fn resolver(path: &Path, build_id: &[u8]) -> Resolver {
    Resolver::new([Module { bias: BIAS, build_id: build_id.to_vec(), path: path.to_path_buf() }])
}

fn with_inlined(resolver: &Resolver, addresses: &[u64]) -> Vec<Frame> {
    let frames = addresses.iter().map(|address| resolver.frames(BIAS + address));
    frames.into_iter().find(|frames| frames.len() > 1).expect("an inlined frame")
}

/// Checks `inlined` in `outer`, each with its line.
fn shows_lines(path: &Path, build_id: &[u8], addresses: &[u64]) {
    let frames = with_inlined(&resolver(path, build_id), addresses);
    let told: Vec<_> = frames
        .iter()
        .map(|frame| {
            assert!(frame.file.as_ref().is_some_and(|file| file.ends_with("program.cpp")), "{frame:?}");
            (frame.function.as_deref().unwrap_or_default(), frame.line, frame.inlined, frame.module.as_str())
        })
        .collect();
    assert_eq!(
        told,
        [("net::inlined", Some(6), true, "program"), ("net::Layer<float>::outer", Some(10), false, "program")]
    );
}

#[test]
fn a_program_with_debug_information_shows_lines_and_inlined_functions() {
    for options in ["-g", "-g -gdwarf-4", "-g -gz=zlib", "-g -gsplit-dwarf", "-g -no-pie"] {
        let folder = Folder::new(&options.replace(['-', ' ', '='], ""));
        let path = folder.compile(options);
        shows_lines(&path, &build_id(&path), &addresses(&path, OUTER));
    }
}

#[test]
fn a_program_without_debug_information_shows_the_names_that_its_tables_have() {
    let folder = Folder::new("names");
    let path = folder.compile("");
    let (id, of_outer) = (build_id(&path), addresses(&path, OUTER));
    for &address in &of_outer {
        let frames = resolver(&path, &id).frames(BIAS + address);
        let function = Some("net::Layer<float>::outer".to_string());
        assert_eq!(frames, [Frame { function, module: "program".to_string(), offset: address, ..Frame::default() }]);
    }
}

#[test]
fn debug_information_in_a_file_of_its_own_is_found_by_the_link_and_by_the_build_id() {
    let folder = Folder::new("separate");
    let path = folder.compile("-g");
    let (id, of_outer) = (build_id(&path), addresses(&path, OUTER));
    folder.run("objcopy", "--only-keep-debug program program.debug");
    folder.run("objcopy", "--strip-all --add-gnu-debuglink=program.debug program");
    shows_lines(&path, &id, &of_outer);
    fs::create_dir(folder.0.join(".debug")).unwrap();
    fs::rename(folder.0.join("program.debug"), folder.0.join(".debug/program.debug")).unwrap();
    shows_lines(&path, &id, &of_outer);
    let hex: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let installed = folder.0.join("installed/.build-id").join(&hex[0]);
    fs::create_dir_all(&installed).unwrap();
    let installed = installed.join(hex[1..].concat() + ".debug");
    fs::rename(folder.0.join(".debug/program.debug"), &installed).unwrap();
    let found = files::find_below(&folder.0.join("installed"), &path, &id).unwrap();
    assert_eq!(found.debug, Some(installed.clone()));
    // The debug information of another build does not belong to the program.
    fs::rename(&installed, folder.0.join("program.debug")).unwrap();
    fs::rename(&path, folder.0.join("before")).unwrap();
    folder.compile("-g -O2 -DOTHER -fno-inline -Wl,--build-id=0x1234");
    folder.run("objcopy", "--only-keep-debug program other.debug");
    fs::rename(folder.0.join("other.debug"), folder.0.join("program.debug")).unwrap();
    fs::rename(folder.0.join("before"), &path).unwrap();
    assert_eq!(files::find_below(&folder.0.join("installed"), &path, &id).unwrap().debug, None);
}

#[test]
fn a_file_that_was_replaced_since_it_was_loaded_names_nothing() {
    let folder = Folder::new("replaced");
    let path = folder.compile("-g");
    let address = addresses(&path, OUTER)[0];
    for path in [path, folder.0.join("program.is.gone")] {
        let frames = resolver(&path, b"another build").frames(BIAS + address);
        let module = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(frames, [Frame { module, offset: address, ..Frame::default() }]);
    }
}

#[test]
fn a_module_that_is_no_file_is_not_opened() {
    let folder = Folder::new("fifo");
    folder.run("mkfifo", "program");
    for path in [folder.0.join("program"), folder.0.clone()] {
        let module = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(resolver(&path, b"").frames(BIAS + 7), [Frame { module, offset: 7, ..Frame::default() }]);
    }
}

#[test]
fn an_address_in_no_module_is_shown_as_it_is() {
    let folder = Folder::new("nowhere");
    let path = folder.compile("");
    let resolver = resolver(&path, &build_id(&path));
    for address in [1, BIAS - 1, BIAS + (1 << 32)] {
        assert_eq!(resolver.frames(address), [Frame { offset: address, ..Frame::default() }]);
    }
}
