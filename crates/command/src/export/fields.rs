//! Events as words and numbers.

use std::fmt;

use syncedmem_trace::event::{Cause, Changed, Noticed, Origin, Since, What};
use syncedmem_trace::head::Access;

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Overwrite => "overwrite",
    }
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Access(access) => access_name(access),
        Cause::Stream => "stream",
    }
}

/// `"freed","object":"0x40","bytes":64`: the event's word, what all events have, and its own fields.
pub struct Fields<'w> {
    pub what: &'w What,
    pub common: &'w str,
}

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let common = self.common;
        match *self.what {
            What::Made { bytes, noticed } => {
                let noticed = match noticed {
                    Noticed::Construction => "construction",
                    Noticed::FirstAccess => "first access",
                };
                write!(f, r#""made"{common},"bytes":{bytes},"noticed":"{noticed}""#)
            }
            What::Ended => write!(f, r#""ended"{common}"#),
            What::Resized { bytes } => write!(f, r#""resized"{common},"bytes":{bytes}"#),
            What::Accessed { side, access, ready } => {
                let (side, access) = (side.name(), access_name(access));
                write!(f, r#""accessed"{common},"side":"{side}","access":"{access}","ready":{ready}"#)
            }
            What::Allocated { kind, bytes, block, origin } => {
                let (kind, origin) = (kind.name(), origin.name());
                write!(
                    f,
                    r#""allocated"{common},"kind":"{kind}","bytes":{bytes},"block":"{block:#x}","origin":"{origin}""#
                )
            }
            What::Freed { kind, bytes, block } => {
                write!(f, r#""freed"{common},"kind":"{}","bytes":{bytes},"block":"{block:#x}""#, kind.name())
            }
            What::Filled { side, bytes } => write!(f, r#""filled"{common},"side":"{}","bytes":{bytes}"#, side.name()),
            What::Copied { to, bytes, path, cause } => {
                let (to, path, cause) = (to.name(), path.name(), cause_name(cause));
                write!(f, r#""copied"{common},"to":"{to}","bytes":{bytes},"path":"{path}","cause":"{cause}""#)
            }
            What::Started { to, bytes, path, copy } => {
                let (to, path) = (to.name(), path.name());
                write!(f, r#""started"{common},"to":"{to}","bytes":{bytes},"path":"{path}","copy":{copy}"#)
            }
            What::Completed { to, copy } => write!(f, r#""completed"{common},"to":"{}","copy":{copy}"#, to.name()),
            What::Compared { side, since, changed } => {
                let since = match since {
                    Since::Fill => "fill",
                    Since::Copy => "copy",
                };
                let changed = match changed {
                    Changed::Nothing => "nothing",
                    Changed::Part => "part",
                    Changed::Everything => "everything",
                };
                write!(f, r#""compared"{common},"side":"{}","since":"{since}","changed":"{changed}""#, side.name())
            }
            What::Lent { side } => write!(f, r#""lent"{common},"side":"{}""#, side.name()),
            What::Released { side } => write!(f, r#""released"{common},"side":"{}""#, side.name()),
            What::Evicted { bytes } => write!(f, r#""evicted"{common},"bytes":{bytes}"#),
            What::Registered { bytes } => write!(f, r#""registered"{common},"bytes":{bytes}"#),
            What::Synchronised => write!(f, r#""synchronised"{common}"#),
            What::TurnedAway { kind, bytes } => {
                write!(f, r#""turned away"{common},"kind":"{}","bytes":{bytes}"#, kind.name())
            }
            What::Failed { side, bytes, refusal, limit } => {
                let (side, refusal) = (side.name(), refusal.name());
                write!(
                    f,
                    r#""failed"{common},"side":"{side}","bytes":{bytes},"refused_by":"{refusal}","limit":{limit}"#
                )
            }
        }
    }
}

pub struct Title<'w>(pub &'w What);

impl fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self.0 {
            What::Made { .. } => f.write_str("object made"),
            What::Ended => f.write_str("object destroyed"),
            What::Resized { .. } => f.write_str("object resized"),
            What::Accessed { side, .. } => write!(f, "access to {} side", side.name()),
            What::Allocated { kind, origin: Origin::Fresh, .. } => write!(f, "allocate {}", kind.name()),
            What::Allocated { kind, origin: Origin::Pool, .. } => write!(f, "{} from pool", kind.name()),
            What::Freed { kind, .. } => write!(f, "free {}", kind.name()),
            What::Filled { side, .. } => write!(f, "fill {} side", side.name()),
            What::Copied { to, .. } => write!(f, "copy to {}", to.name()),
            What::Started { to, .. } => write!(f, "start copy to {}", to.name()),
            What::Completed { to, .. } => write!(f, "wait for copy to {}", to.name()),
            What::Compared { side, .. } => write!(f, "{} side compared", side.name()),
            What::Lent { side } => write!(f, "{} memory lent", side.name()),
            What::Released { side } => write!(f, "{} side released", side.name()),
            What::Evicted { .. } => f.write_str("evict device side"),
            What::Registered { .. } => f.write_str("page-lock"),
            What::Synchronised => f.write_str("synchronise context"),
            What::TurnedAway { .. } => f.write_str("turned away by a budget"),
            What::Failed { .. } => f.write_str("allocation failed"),
        }
    }
}
