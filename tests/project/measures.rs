//! The size of the project, in a table that `cargo test --test project measures -- --nocapture` prints: what there is, the bound that fails
//! where it grows beyond it, and the goal, where that is not reached. No measure counts the files of a first touch, or the functions
//! of a C call before the object's method: a reader counts them in docs/architecture.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::arrows::circles_of_crates;
use crate::prose::files;

struct Measure {
    name: &'static str,
    is: usize,
    /// Lower it where the measure falls.
    bound: usize,
    goal: usize,
}

/// The text of each file that git lists, by its path.
struct Tree(BTreeMap<String, Vec<u8>>);

impl Tree {
    fn read() -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let named = |path: PathBuf| {
            (path.strip_prefix(root).unwrap().to_str().unwrap().to_string(), std::fs::read(&path).unwrap())
        };
        Tree(files(root).into_iter().filter(|path| !path.is_symlink()).map(named).collect())
    }

    fn under<'t>(&'t self, folders: &'t [&str]) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        let is_under = move |path: &str| folders.iter().any(|folder| path.starts_with(folder));
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_slice())).filter(move |(path, _)| is_under(path))
    }

    fn lines(&self, folders: &[&str]) -> usize {
        self.under(folders).map(|(_, text)| text.iter().filter(|byte| **byte == b'\n').count()).sum()
    }

    fn text(&self, path: &str) -> &str {
        std::str::from_utf8(&self.0[path]).unwrap()
    }

    fn folders_at_the_top(&self) -> usize {
        let folders = self.0.keys().filter_map(|path| path.split_once('/')).map(|(folder, _)| folder);
        folders.filter(|folder| !folder.starts_with('.')).collect::<BTreeSet<_>>().len()
    }

    fn locks(&self) -> usize {
        let table = self.text("src/process.rs").split_once("const LOCKS").unwrap().1.split_once("];").unwrap().0;
        table.lines().filter(|line| line.starts_with("    ") && line.ends_with(',')).count()
    }

    /// The names in the first column of the tables of docs/settings.md.
    fn settings(&self) -> usize {
        let cells = self.text("docs/settings.md").lines().filter_map(|line| line.strip_prefix("| `SYNCEDMEM_"));
        cells.map(|rest| 1 + rest.split('|').next().unwrap().matches("`SYNCEDMEM_").count()).sum()
    }

    /// A new function of the C API is written in its own file, in that of its test, and in each other file that names most of them and
    /// is not generated.
    fn files_of_a_c_function(&self) -> usize {
        let header = self.text("include/syncedmem.h");
        let symbols: BTreeSet<_> = self.text("src/abi/symbols.txt").lines().collect();
        let names = header.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let functions: BTreeSet<_> = names.filter(|name| symbols.contains(name)).collect();
        assert!(functions.len() > 50, "{functions:?}");
        let lists_them = |text: &str| {
            let words: BTreeSet<_> = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
            functions.iter().filter(|name| words.contains(*name)).count() * 3 >= functions.len() * 2
        };
        let by_hand = self.under(&["src/", "crates/", "python/", "include/", "docs/", "cmake/"]);
        let by_hand = by_hand.filter(|(path, _)| *path != "src/abi/symbols.txt");
        let lists = by_hand.filter_map(|(_, text)| std::str::from_utf8(text).ok()).filter(|text| {
            let is_generated = text.lines().take(8).any(|line| line.contains("enerated"));
            text.matches("syncedmem_").count() > 50 && !is_generated && lists_them(text)
        });
        2 + lists.count()
    }
}

#[test]
fn measures_are_within_their_bounds() {
    let (tree, circles) = (Tree::read(), circles_of_crates());
    let measures = [
        Measure { name: "lines of all files that git lists", is: tree.lines(&[""]), bound: 119_679, goal: 110_000 },
        Measure { name: "lines in src/", is: tree.lines(&["src/"]), bound: 25_248, goal: 21_000 },
        Measure { name: "lines in crates/", is: tree.lines(&["crates/"]), bound: 33_397, goal: 27_000 },
        Measure {
            name: "lines in tests/ and cpp_tests/",
            is: tree.lines(&["tests/", "cpp_tests/"]),
            bound: 38_394,
            goal: 36_000,
        },
        Measure { name: "folders at the top, without hidden ones", is: tree.folders_at_the_top(), bound: 11, goal: 11 },
        Measure { name: "scripts", is: tree.under(&["scripts/"]).count(), bound: 10, goal: 12 },
        Measure { name: "locks in the fork table", is: tree.locks(), bound: 10, goal: 12 },
        Measure { name: "settings", is: tree.settings(), bound: 17, goal: 15 },
        Measure {
            name: "files that a new C function touches by hand",
            is: tree.files_of_a_c_function(),
            bound: 3,
            goal: 3,
        },
        Measure { name: "circles of files within a crate", is: circles.len(), bound: 0, goal: 0 },
    ];
    let mut beyond = Vec::new();
    println!("{:<50} {:>8} {:>8} {:>8}", "", "is", "bound", "goal");
    for Measure { name, is, bound, goal } in measures {
        println!("{name:<50} {is:>8} {bound:>8} {goal:>8}");
        if is > bound {
            beyond.push(format!("{name}: {is}, and the bound is {bound}"));
        }
    }
    for circle in circles {
        println!("a circle: {}", circle.join(" "));
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}
