//! Events, in few words: each a nanosecond after the last, unless it takes longer.

use syncedmem_analysis::advice::{Advice, Findings, History, Who};
use syncedmem_trace::event::*;
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;

pub use syncedmem_trace::head::Access::{Overwrite, Read, Write};
pub use syncedmem_trace::head::Side::{Device, Host};

/// The site that makes every object, unless another is named.
pub const MAKER: Site = Site(7);

/// An event without its time: who asked, how long it took, and what it was.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub object: u64,
    pub site: Site,
    pub duration: u64,
    pub what: What,
}

/// An event of one object, from an unnamed site.
fn told(what: What) -> Told {
    Told { object: 0x10, site: Site(0), duration: 0, what }
}

impl Told {
    pub fn at(self, site: u32) -> Told {
        Told { site: Site(site), ..self }
    }

    pub fn taking(self, duration: u64) -> Told {
        Told { duration, ..self }
    }

    pub fn of(self, object: u64) -> Told {
        Told { object, ..self }
    }
}

pub fn made(bytes: u64) -> Told {
    Told { site: MAKER, ..told(What::Made { bytes, noticed: Noticed::Construction }) }
}

/// An access that needs something.
pub fn asked(side: Side, access: Access) -> Told {
    told(What::Accessed { side, access, ready: false })
}

/// An access that needs nothing: told only where every access is.
pub fn ready(side: Side, access: Access) -> Told {
    told(What::Accessed { side, access, ready: true })
}

pub fn fresh(kind: Kind, bytes: u64) -> Told {
    told(What::Allocated { kind, bytes, block: 0x1000, origin: Origin::Fresh })
}

pub fn pooled(kind: Kind, bytes: u64) -> Told {
    told(What::Allocated { kind, bytes, block: 0x1000, origin: Origin::Pool })
}

pub fn freed(kind: Kind, bytes: u64) -> Told {
    told(What::Freed { kind, bytes, block: 0x1000 })
}

pub fn filled(side: Side, bytes: u64) -> Told {
    told(What::Filled { side, bytes })
}

pub fn copied(to: Side, access: Access, bytes: u64, path: Path) -> Told {
    told(What::Copied { to, bytes, path, cause: Cause::Access(access) })
}

pub fn saved(to: Side, bytes: u64) -> Told {
    told(What::Copied { to, bytes, path: Path::Pageable, cause: Cause::Eviction })
}

pub fn started(to: Side, bytes: u64, path: Path) -> Told {
    told(What::Started { to, bytes, path, copy: 1 })
}

pub fn completed(to: Side) -> Told {
    told(What::Completed { to, copy: 1 })
}

/// What the host holds was compared, before it is copied.
pub fn compared(since: Since, changed: Changed) -> Told {
    told(What::Compared { side: Host, since, changed })
}

/// What came from the device was compared.
pub fn came(changed: Changed) -> Told {
    told(What::Compared { side: Device, since: Since::Copy, changed })
}

pub fn lent(side: Side) -> Told {
    told(What::Lent { side })
}

pub fn released(side: Side) -> Told {
    told(What::Released { side })
}

pub fn evicted(side: Side, bytes: u64, newest: bool) -> Told {
    told(What::Evicted { side, bytes, newest })
}

pub fn failed(side: Side, bytes: u64) -> Told {
    told(What::Failed { side, bytes })
}

pub fn resized(bytes: u64) -> Told {
    told(What::Resized { bytes })
}

pub fn turned_away(kind: Kind, bytes: u64) -> Told {
    Told { object: 0, ..told(What::TurnedAway { kind, bytes }) }
}

pub fn ended() -> Told {
    told(What::Ended)
}

/// The events, with their times.
pub fn events(story: &[Told]) -> Vec<Event> {
    let mut time = 1;
    let timed = story.iter().map(|told| {
        let start = time;
        time += told.duration + 1;
        Event { start, duration: told.duration, thread: 1, object: told.object, site: told.site, what: told.what }
    });
    timed.collect()
}

/// What a ledger does with the advice: a history for each object, and one set of findings.
pub struct Advisor {
    pub findings: Findings,
    pub objects: Vec<(u64, Who, History)>,
    every_access: bool,
}

impl Advisor {
    pub fn new(every_access: bool) -> Advisor {
        Advisor { findings: Findings::default(), objects: Vec::new(), every_access }
    }

    pub fn take(&mut self, event: &Event) {
        if event.object == 0 {
            return self.findings.take_without_object(event);
        }
        if let What::Made { .. } = event.what {
            self.objects.retain(|object| object.0 != event.object);
            let who = Who { made: event.site, every_access: self.every_access };
            self.objects.push((event.object, who, History::default()));
        }
        let (_, who, history) = self.objects.iter_mut().find(|object| object.0 == event.object).unwrap();
        history.take(event, *who, &mut self.findings);
        if event.what == What::Ended {
            self.objects.retain(|object| object.0 != event.object);
        }
    }

    /// What a report would say now.
    pub fn report(&self) -> Vec<Advice> {
        let mut findings = self.findings.clone();
        for (object, who, history) in &self.objects {
            history.at_report(*object, *who, &mut findings);
        }
        findings.advice()
    }
}
