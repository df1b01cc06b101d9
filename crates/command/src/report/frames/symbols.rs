//! The functions of an ELF file, by address.

use std::ops::Range;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use super::files::opened;

/// Of a module and of its debug file.
#[derive(Default)]
pub struct Symbols {
    segments: Vec<Range<u64>>,
    /// Sorted by start.
    functions: Vec<(Range<u64>, String)>,
}

impl Symbols {
    pub fn of(itself: &Path, debug: Option<&Path>) -> Option<Symbols> {
        let mut symbols = Symbols::default();
        symbols.add(itself)?;
        // A debug file has the segments' places and not their contents.
        debug.and_then(|debug| symbols.add(debug));
        // Of several names, the first in the alphabet.
        symbols.functions.sort_by(|(a, one), (b, other)| (a.start, a.end, one).cmp(&(b.start, b.end, other)));
        symbols.functions.dedup_by(|(later, _), (earlier, _)| later.start == earlier.start);
        Some(symbols)
    }

    fn add(&mut self, path: &Path) -> Option<()> {
        let data = opened(path)?;
        let file = object::File::parse(&*data).ok()?;
        if self.segments.is_empty() {
            self.segments =
                file.segments().map(|part| part.address()..part.address().saturating_add(part.size())).collect();
        }
        // A symbol without a size would stand for all that lies behind it.
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0
        };
        for symbol in file.symbols().chain(file.dynamic_symbols()).filter(is_function) {
            let range = symbol.address()..symbol.address().saturating_add(symbol.size());
            self.functions.extend(symbol.name().ok().map(|name| (range, name.to_string())));
        }
        Some(())
    }

    pub fn has(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| segment.contains(&address))
    }

    pub fn at(&self, address: u64) -> Option<&str> {
        let behind = self.functions.partition_point(|(range, _)| range.start <= address);
        let (range, name) = self.functions.get(behind.checked_sub(1)?)?;
        range.contains(&address).then_some(name.as_str())
    }
}
