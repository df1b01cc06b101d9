//! Events as words and numbers.

use serde_json::{Value, json};
use syncedmem_core::head::Access;
use syncedmem_trace::event::{Cause, Noticed, What};

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Overwrite => "overwrite",
    }
}

/// The event's word and its own fields.
pub fn of(what: &What) -> Value {
    match *what {
        What::Made { bytes, noticed } => {
            let noticed = if noticed == Noticed::Construction { "construction" } else { "first access" };
            json!({ "what": "made", "bytes": bytes, "noticed": noticed })
        }
        What::Ended => json!({ "what": "ended" }),
        What::Resized { bytes } => json!({ "what": "resized", "bytes": bytes }),
        What::Accessed { side, access } => {
            json!({ "what": "accessed", "side": side.name(), "access": access_name(access) })
        }
        What::Allocated { kind, bytes, block, origin } => {
            let block = format!("{block:#x}");
            json!({ "what": "allocated", "kind": kind.name(), "bytes": bytes, "block": block, "origin": origin.name() })
        }
        What::Freed { kind, bytes, block } => {
            json!({ "what": "freed", "kind": kind.name(), "bytes": bytes, "block": format!("{block:#x}") })
        }
        What::Filled { side, bytes } => json!({ "what": "filled", "side": side.name(), "bytes": bytes }),
        What::Copied { to, bytes, path, cause } => {
            let cause = match cause {
                Cause::Access(access) => access_name(access),
                Cause::Stream => "stream",
            };
            json!({ "what": "copied", "to": to.name(), "bytes": bytes, "path": path.name(), "cause": cause })
        }
        What::Started { to, bytes, path, copy } => {
            json!({ "what": "started", "to": to.name(), "bytes": bytes, "path": path.name(), "copy": copy })
        }
        What::Completed { to, copy } => json!({ "what": "completed", "to": to.name(), "copy": copy }),
        What::Lent { side } => json!({ "what": "lent", "side": side.name() }),
        What::Released { side } => json!({ "what": "released", "side": side.name() }),
        What::Synchronised => json!({ "what": "synchronised" }),
        What::Failed { side, bytes, refusal, limit } => {
            let (side, refusal) = (side.name(), refusal.name());
            json!({ "what": "failed", "side": side, "bytes": bytes, "refused_by": refusal, "limit": limit })
        }
    }
}

/// `copied to host`, `allocated pageable, pool`
pub fn title(fields: &Value) -> String {
    let word = |name: &str| fields[name].as_str();
    let mut title = word("what").unwrap_or_default().to_string();
    for (before, name) in [(" to ", "to"), (" ", "side"), (" ", "kind"), (", ", "origin")] {
        title.extend(word(name).map(|word| format!("{before}{word}")));
    }
    title
}
