//! Rows about copies, where there is a device.

use std::time::Instant;

use super::measure::{Once, Row};
use super::object::{Block, Object, STAGED_FROM, Way, choose};
use crate::doctor::machine;

const BYTES: usize = STAGED_FROM;

/// Rows for both directions and every way of a copy; an error says why there are none.
pub fn copies() -> Result<Vec<Row>, String> {
    machine::gpu()?;
    let ways = [
        (Way::Pageable, "pageable, as the driver does it"),
        (Way::Staged, "pageable, through locked slots"),
        (Way::Pinned, "page-locked"),
    ];
    let mut rows = Vec::new();
    for (way, name) in ways {
        for to_device in [true, false] {
            let direction = if to_device { "to" } else { "from" };
            let name = format!("64 MiB {direction} the device: {name}");
            rows.push(Row { name, original: None, library: copy(way, to_device), bytes: Some(BYTES) });
        }
    }
    Ok(rows)
}

fn copy(way: Way, to_device: bool) -> Once {
    let mut kept = None;
    Box::new(move || {
        if kept.is_none() {
            choose(way);
            // Smaller by one byte, so that the copy is not staged.
            let mut object = Object::of(if way == Way::Pageable { BYTES - 1 } else { BYTES })?;
            object.write();
            object.copy_to_device()?;
            kept = Some(object);
        }
        let object = kept.as_mut()?;
        if to_device {
            object.host_is_newest()?;
        } else {
            object.device_is_newest()?;
        }
        let begun = Instant::now();
        if to_device {
            object.copy_to_device()?;
        } else {
            object.host_is_newest()?;
        }
        Some(begun.elapsed())
    })
}
