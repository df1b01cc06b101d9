//! Turns the events of a process into the facts of a report.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Origin, Pass, Site, What};
use syncedmem_trace_reader::ledger::{self, Ledger, Share};

use super::about::About;
use super::arena::Arenas;
use super::facts::{self, Batch, Ending, Failure, Holding, Process, Spent};
use super::layers::{self, Layers};
use super::rows::{self, Caller, HolderRow};
use super::timeline::{Owner, Timeline};

#[derive(Default)]
pub struct Gathering {
    ledger: Ledger,
    timeline: Timeline,
    callers: HashMap<Site, Caller>,
    events: u64,
    /// Address of the object that allocated last; 0: none.
    growing: u64,
    spent: Spent,
    threads: HashSet<u32>,
    layers: Layers,
    arenas: Arenas,
    failing: Option<Failing>,
}

/// The last allocation that failed.
struct Failing {
    thread: u32,
    holder: ledger::Holder,
    /// Bytes on the side of the failure at that moment.
    held: Vec<(ledger::Holder, u64)>,
    /// The names are still missing.
    failure: Failure,
}

impl Gathering {
    /// Takes the next event. Events are ordered by their ends.
    pub fn take(&mut self, event: &Event) {
        self.events += 1;
        self.ledger.take(event);
        let ledger = &self.ledger;
        self.timeline.take(event, ledger.live(), ledger.object(event.object));
        self.arenas.take(event, ledger);
        self.count_for_caller(event);
        if matches!(event.what, What::Allocated { .. }) {
            self.growing = event.object;
        }
        self.count_time(event);
        self.watch_failures(event);
    }

    fn watch_failures(&mut self, event: &Event) {
        let What::Failed { side, bytes, refusal, limit } = event.what else {
            if let Some(Failing { thread, failure, .. }) = &mut self.failing {
                failure.is_last &= *thread != event.thread || !goes_on(event.what);
            }
            return;
        };
        let (ledger, on_device) = (&self.ledger, side == Side::Device);
        let count = self.failing.as_ref().map_or(0, |before| before.failure.count) + 1;
        let held = ledger.holders().map(|(holder, share)| (holder, on_side(share.live, side)));
        self.failing = Some(Failing {
            thread: event.thread,
            holder: ledger.object(event.object).map_or(ledger::Holder::Site(event.site), |object| object.holder),
            held: held.filter(|&(_, bytes)| bytes > 0).collect(),
            failure: Failure { count, on_device, bytes, refusal, limit, is_last: true, ..Failure::default() },
        });
    }

    pub fn pass(&mut self, pass: &Pass) {
        self.timeline.pass(pass);
    }

    /// Notes that the thread executes a layer from now on.
    pub fn step(&mut self, thread: u32, step: u64) {
        self.arenas.step(thread, step);
    }

    fn count_time(&mut self, event: &Event) {
        let Spent { copies, fills, not_measured, .. } = &mut self.spent;
        let (sum, bytes) = match event.what {
            What::Copied { bytes, .. } => (copies, bytes),
            What::Completed { .. } => (copies, 0),
            What::Filled { bytes, .. } => (fills, bytes),
            What::Started { bytes, .. } => return not_measured.add(bytes, 0),
            _ => return,
        };
        sum.add(bytes, event.duration);
        self.threads.insert(event.thread);
    }

    fn count_for_caller(&mut self, event: &Event) {
        let duration = event.duration;
        // The library looks up call sites only for long events. Other events count for the place that made the object.
        let site = match self.ledger.object(event.object) {
            Some(object) if event.site == Site::UNKNOWN => object.made,
            _ => event.site,
        };
        let caller = self.callers.entry(site).or_default();
        match event.what {
            What::Made { .. } => caller.made += 1,
            What::Copied { to, bytes, .. } | What::Started { to, bytes, .. } => {
                caller.copies[usize::from(to == Side::Device)].add(bytes, duration);
            }
            What::Filled { bytes, .. } => caller.fills.add(bytes, duration),
            What::Allocated { bytes, origin: Origin::Fresh, .. } => caller.fresh.add(bytes, duration),
            What::Completed { .. } => caller.waits.add(0, duration),
            _ => {}
        }
    }

    pub fn name(&mut self, object: u64, name: &str) {
        self.ledger.name(object, name);
        self.timeline.name(object, self.ledger.object(object));
    }

    /// Takes over a peak from before the events that were read.
    pub fn raise_peak(&mut self, kind: Kind, peak: u64, time: u64) {
        self.ledger.raise_peak(kind, peak, time);
    }

    pub fn items(&mut self, object: u64, items: u64) {
        self.ledger.set_items(object, items);
    }

    /// Takes the layers of a net, as a recording has them.
    pub fn net(&mut self, layers: &str) {
        if !self.arenas.net(layers) {
            self.layers.take(layers);
        }
    }

    pub fn finish(mut self, id: u32, name: String, places: HashMap<Site, String>) -> Process {
        let ledger = &self.ledger;
        let place = |site| facts::place(&places, site);
        let who = |holder| match holder {
            ledger::Holder::Site(site) => place(site).to_string(),
            named => ledger.name_of(named).unwrap_or_default().to_string(),
        };
        let growing = ledger.object(self.growing).map(|object| who(object.holder));
        let failure = self.failing.as_ref().map(|failing| failing.finish(who));
        let parts = self.timeline.owners().map(|(Owner { holder, made }, held)| Holding {
            name: ledger.name_of(holder).map(str::to_string),
            place: place(made).to_string(),
            held,
        });
        let parts = parts.collect();
        let (holders, arena) = (holders(ledger, who), self.arenas.finish(who));
        Process {
            parts,
            id,
            name,
            events: self.events,
            by_type: self.layers.by_type(&holders),
            by_name: layers::by_name(&holders),
            roles: layers::by_role(&holders),
            in_place: self.layers.in_place(&holders),
            holders,
            layers: std::mem::take(&mut self.layers),
            arena,
            batches: batches(ledger),
            account: ledger.account(),
            alive: ledger.alive(),
            spent: Spent { threads: self.threads.len(), ..self.spent.clone() },
            callers: self.callers(place),
            timeline: self.timeline,
            ending: Ending { growing, ..Ending::default() },
            failure,
            about: About::default(),
        }
    }

    /// Returns the callers sorted by time. Places with the same text are joined.
    fn callers<'p>(&self, place: impl Fn(Site) -> &'p str) -> Vec<Caller> {
        let mut callers: HashMap<String, Caller> = HashMap::new();
        for (&site, caller) in self.callers.iter().filter(|&(_, caller)| *caller != Caller::default()) {
            let who = place(site).to_string();
            callers.entry(who.clone()).or_insert_with(|| Caller { who, ..Caller::default() }).join(caller);
        }
        let mut callers: Vec<_> = callers.into_values().collect();
        callers.sort_by(|a, b| b.nanoseconds().cmp(&a.nanoseconds()).then_with(|| a.who.cmp(&b.who)));
        callers
    }
}

impl Failing {
    fn finish(&self, who: impl Fn(ledger::Holder) -> String) -> Failure {
        let holders = rows::by_name(self.held.iter().map(|&(holder, bytes)| (who(holder), bytes)));
        Failure { who: who(self.holder), holders, ..self.failure.clone() }
    }
}

/// Whether the event shows that its thread continues: it requests memory or uses it.
fn goes_on(what: What) -> bool {
    matches!(
        what,
        What::Made { .. }
            | What::Resized { .. }
            | What::Accessed { .. }
            | What::Allocated { .. }
            | What::Filled { .. }
            | What::Copied { .. }
            | What::Started { .. }
            | What::Lent { .. }
    )
}

/// The bytes on a side.
fn on_side(by_kind: [u64; 3], side: Side) -> u64 {
    let [pageable, pinned, device] = by_kind;
    if side == Side::Device { device } else { pageable + pinned }
}

/// Returns the holders sorted by the peak. Places with the same text are joined.
fn holders(ledger: &Ledger, who: impl Fn(ledger::Holder) -> String) -> Vec<HolderRow> {
    let mut holders: HashMap<String, HolderRow> = HashMap::new();
    for (holder, Share { live, blocks, at_peak, blocks_at_peak, .. }) in shares(ledger) {
        let this = HolderRow { who: who(holder), live, blocks, at_peak, blocks_at_peak };
        let empty = HolderRow { who: this.who.clone(), ..HolderRow::default() };
        holders.entry(this.who.clone()).or_insert(empty).join(&this);
    }
    let mut holders: Vec<_> = holders.into_values().collect();
    holders.sort_by(|a, b| {
        let most = |holder: &HolderRow| holder.at_peak.iter().max().copied();
        most(b).cmp(&most(a)).then_with(|| a.who.cmp(&b.who))
    });
    holders
}

/// The holders that hold memory, or did at a peak.
fn shares(ledger: &Ledger) -> impl Iterator<Item = (ledger::Holder, Share)> {
    ledger.holders().filter(|(_, share)| share.at_peak != [0; 3] || share.live != [0; 3])
}

/// The largest batch first.
fn batches(ledger: &Ledger) -> Vec<Batch> {
    let batches = ledger.batches().map(|(items, share)| Batch { items, at_peak: share.at_peak });
    let mut batches: Vec<_> = batches.filter(|batch| batch.at_peak != [0; 3]).collect();
    batches.sort_by_key(|batch| Reverse(batch.items));
    batches
}

#[cfg(test)]
mod tests {
    use syncedmem_trace::event::Noticed;

    use super::super::samples::{allocated, at, copied, life, process};
    use super::*;

    #[test]
    fn a_place_that_several_sites_resolve_to_is_one_row() {
        let mut events = life();
        events.iter_mut().enumerate().for_each(|(n, event)| event.site = Site(n as u32));
        let mut gathering = Gathering::default();
        events.iter().for_each(|event| gathering.take(event));
        let process = gathering.finish(
            1,
            String::new(),
            (0..20).map(|n| (Site(n), "caffe::Blob<float>::Reshape".to_string())).collect(),
        );
        assert_eq!(process.callers.len(), 1);
        let caller = &process.callers[0];
        assert_eq!((caller.copies[0].count, caller.copies[1].count, caller.made, caller.fresh.count), (1, 1, 1, 2));
        assert_eq!(caller.copies, [Side::Host, Side::Device].map(|side| process.account.copies_to(side)));
        assert_eq!(caller.nanoseconds(), 20 + 5 + 40 + 70 + 80 + 3);
    }

    #[test]
    fn what_has_no_place_of_its_own_counts_as_its_objects_makers() {
        let made = What::Made { bytes: 64, noticed: Noticed::Construction };
        let unknown = |event: Event| Event { site: Site::UNKNOWN, ..event };
        let events = [
            at(10, 0, made),
            unknown(at(11, 5, allocated(Kind::Pageable, 64))),
            Event { site: Site(2), ..at(16, 7, copied(Side::Host, 64)) },
            unknown(Event { object: 0x2000, ..at(30, 3, allocated(Kind::Pageable, 64)) }),
            unknown(Event { object: 0, ..at(40, 1, What::Synchronised) }),
        ];
        let shown: Vec<_> = process(&events).callers.iter().map(|c| (c.who.clone(), c.nanoseconds())).collect();
        assert_eq!(
            shown,
            [("place 2".to_string(), 7), ("place 1".to_string(), 5), ("an unknown place".to_string(), 3)]
        );
    }
}
