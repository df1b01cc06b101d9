//! The rules' state machines: each gets the [facts](super::fact) of one object.

mod pageable;
mod ping_pong;
mod unread;
mod unused;

use super::fact::Fact;
use super::findings::Scribe;

#[derive(Clone, Debug, Default)]
pub struct Rules {
    unread: unread::Unread,
    ping_pong: ping_pong::PingPong,
    pageable: pageable::Pageable,
    unused: unused::Unused,
}

impl Rules {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        self.unread.take(fact, scribe);
        self.ping_pong.take(fact, scribe);
        self.pageable.take(fact, scribe);
        self.unused.take(fact, scribe);
    }
}
