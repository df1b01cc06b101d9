//! The rules' state machines: each gets the [facts](super::fact) of one object.

mod overwritten_copy;
mod overwritten_fill;
mod pageable;
mod ping_pong;
pub mod turned_away;
mod unchanged;
mod unread;
mod unused;

use super::fact::Fact;
use super::findings::Scribe;

#[derive(Clone, Debug, Default)]
pub struct Rules {
    unread: unread::Unread,
    unchanged: unchanged::Unchanged,
    ping_pong: ping_pong::PingPong,
    overwritten_fill: overwritten_fill::OverwrittenFill,
    overwritten_copy: overwritten_copy::OverwrittenCopy,
    pageable: pageable::Pageable,
    unused: unused::Unused,
}

impl Rules {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        self.unread.take(fact, scribe);
        self.unchanged.take(fact, scribe);
        self.ping_pong.take(fact, scribe);
        self.overwritten_fill.take(fact, scribe);
        self.overwritten_copy.take(fact, scribe);
        self.pageable.take(fact, scribe);
        self.unused.take(fact, scribe);
    }
}
