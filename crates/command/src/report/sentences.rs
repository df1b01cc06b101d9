//! What the text and the page share: sentences, amounts, and lists of who held memory.

use std::cmp::Reverse;
use std::fmt;

use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Duration, Size};
use syncedmem_trace::account::Sum;

use super::Shown;
use super::batch::{Growth, Limit, growth};
use super::facts::{Process, Spent};
use super::layers::{Group, Role};
use super::rows::HolderRow;
use super::sharing::Saving;

/// Number of batches that have a line: a training and its tests have several nets.
const BATCHES: usize = 3;

/// No net is made for this many items.
const MANY: u64 = 1 << 20;

pub fn kinds(process: &Process) -> impl Iterator<Item = Kind> {
    [Kind::Device, Kind::Pinned, Kind::Pageable].into_iter().filter(|&kind| process.account.memory(kind).peak > 0)
}

/// `peak 53.7 MiB of blobs; the process 180.2 MiB, 126.5 MiB of it not in blobs`
pub fn peak_line(process: &Process) -> String {
    let peak = |kind| process.account.memory(kind).peak;
    let peaks: Vec<(u64, &str)> = kinds(process).map(|kind| (peak(kind), kind.name())).collect();
    let blobs = match peaks[..] {
        [] => format!("peak {} of blobs", Size(0)),
        [(peak, _)] => format!("peak {} of blobs", Size(peak)),
        _ => {
            let peaks: Vec<_> = peaks.iter().map(|&(peak, kind)| format!("{} {kind}", Size(peak))).collect();
            format!("peak {} memory of blobs", peaks.join(", "))
        }
    };
    let Some(resident) = process.ending.resident_peak else { return blobs };
    match resident.checked_sub(peak(Kind::Pageable) + peak(Kind::Pinned)) {
        Some(others) => format!("{blobs}; the process {}, {} of it not in blobs", Size(resident), Size(others)),
        None => format!("{blobs}; the process {}: not all of the blobs' memory was ever used", Size(resident)),
    }
}

/// `at batch 64, one more item costs 1.2 MiB; 8.0 GiB would hold batch 410`, for each size of a batch.
pub fn batch_lines(process: &Process, shown: Shown) -> Vec<String> {
    growth(process).iter().take(BATCHES).map(|growth| batch_line(process, growth, shown)).collect()
}

fn batch_line(process: &Process, growth: &Growth, shown: Shown) -> String {
    let Growth { items, one_more, is_device, .. } = *growth;
    let device = if is_device { " on the device" } else { "" };
    let one_more = Size(one_more);
    if let Some(bound) = process.bound_that_ended() {
        return format!(
            "at batch {items}, one more item costs at least {one_more}{device}; batch {items} did not fit in {bound}"
        );
    }
    format!("at batch {items}, one more item costs {one_more}{device}{}", fitting(process, growth, shown))
}

fn fitting(process: &Process, growth: &Growth, shown: Shown) -> String {
    let asked = shown.fit.map(|bytes| Limit { bytes, whose: "", in_use: None });
    let Some(limit) = asked.or_else(|| growth.narrowest(process)) else { return String::new() };
    let (whose, bytes, fixed) = (limit.whose, Size(limit.bytes), Size(growth.fixed(limit)));
    match growth.fitting(limit) {
        Some(MANY..) => format!("; {whose}{bytes} would hold batch {MANY} and more"),
        Some(batch) => format!("; {whose}{bytes} would hold batch {batch}"),
        None => format!("; {whose}{bytes} would hold no batch, since {fixed} do not depend on it"),
    }
}

/// The values of `--share`, the one that would save most first. Each needs a tenth less than the next, and the last one than no sharing.
pub fn worth_sharing(process: &Process) -> Vec<(&'static str, Saving)> {
    let peak = process.account.memory(Kind::Pageable).peak;
    let mut least = peak;
    let mut worth = Vec::new();
    for (name, saving) in ["gradients", "all", "parked"].into_iter().zip(process.layers.sharing.savings(peak)) {
        let needs = peak.saturating_sub(saving.bytes);
        if needs > 0 && needs < least - least / 10 {
            least = needs;
            worth.insert(0, (name, saving));
        }
    }
    worth
}

/// `--share=parked would need 510.0 MiB of these 3.3 GiB`, or the memory that a run with --share needed.
pub fn sharing_lines(process: &Process, shown: Shown) -> Vec<String> {
    let sharing = &process.layers.sharing;
    if let Some(sides) = sharing.shared {
        // The process prints the same sentences at its end.
        let shared =
            ["shared memory", "shared device memory"].into_iter().zip(sides).filter(|(_, (needed, _))| *needed > 0);
        return shared
            .map(|(what, (needed, would_be))| format!("{what} needed {} for blobs of {}", Size(needed), Size(would_be)))
            .chain(waited_line(process))
            .collect();
    }
    let peak = process.account.memory(Kind::Pageable).peak;
    let worth = worth_sharing(process);
    let Some((&(best, saving), others)) = worth.split_first() else { return Vec::new() };
    let needs = |saving: Saving| Size(peak - saving.bytes);
    let mut lines = vec![format!("--share={best} would need {} of these {}", needs(saving), Size(peak))];
    for &(name, saving) in others {
        let why = if name == "all" { "encodes nothing" } else { "leaves the activations readable" };
        lines[0] += &format!("; --share={name}, which {why}, {}", needs(saving));
    }
    let growths = growth(process);
    let of_nets = |growth: &&Growth| growth.items == saving.items && !growth.is_device;
    let largest = growths.iter().find(of_nets).filter(|_| process.bound_that_ended().is_none());
    if let Some(growth) = largest.map(|growth| growth.with(saving)).filter(Growth::is_plausible) {
        let fitting = fitting(process, &growth, shown);
        lines.push(format!("with --share={best}, one more item would cost {}{fitting}", Size(growth.one_more)));
    }
    lines
}

/// `2.9 GiB waited as 1.0 GiB: 61 duplicates, 53 by their small differences, 49 by their zeros`
pub fn waited_line(process: &Process) -> Option<String> {
    let waited = process.layers.sharing.waited;
    (waited.bytes() > 0).then(|| format!("{} waited as {}: {waited}", Size(waited.bytes()), Size(waited.taken())))
}

/// The value of `--share` that would save most.
pub struct Share {
    pub option: String,
    pub bytes: u64,
    /// `535.0 MiB to save (52.2 %): the process would need 490.0 MiB instead of 1.0 GiB`
    pub line: String,
}

pub fn share(process: &Process) -> Option<Share> {
    let &(name, Saving { bytes, .. }) = worth_sharing(process).first()?;
    let peak = process.account.memory(Kind::Pageable).peak;
    // A process that is smaller than its blobs has not used all of their memory.
    let resident = process.ending.resident_peak.filter(|&resident| resident >= peak);
    let (who, whole) = resident.map_or(("its blobs", peak), |resident| ("the process", resident));
    let part = Percent { part: bytes, of: whole };
    let needs = format!("{who} would need {} instead of {}", Size(whole - bytes), Size(whole));
    Some(Share { option: format!("--share={name}"), bytes, line: format!("{} to save ({part}): {needs}", Size(bytes)) })
}

/// `122 fills (10.0 MiB) took 23.5 ms: 0.1 % of the 18.0 s of the run`
pub fn spent_line(process: &Process) -> String {
    let Spent { copies, fills, not_measured, threads } = &process.spent;
    let measured: Vec<String> = [(copies, "copy", "copies"), (fills, "fill", "fills")]
        .into_iter()
        .filter(|(sum, ..)| sum.count > 0)
        .map(|(sum, one, many)| {
            let what = if sum.count == 1 { one } else { many };
            format!("{} {what} ({}) took {}", sum.count, Size(sum.bytes), Duration(sum.nanoseconds))
        })
        .collect();
    let mut sentences = Vec::new();
    if !measured.is_empty() {
        let (time, is_whole) = process.run_time();
        let of = if is_whole { "of the run" } else { "from the first event to the last" };
        let part = percent(process.spent.nanoseconds(), time);
        let threads = if *threads > 1 { format!(", summed over {threads} threads") } else { String::new() };
        sentences.push(format!("{}: {part:.1} % of the {} {of}{threads}", measured.join(", "), Duration(time)));
    }
    if not_measured.count > 0 {
        let bytes = Size(not_measured.bytes);
        sentences.push(format!("copies on streams: {} ({bytes}), time not measured", not_measured.count));
    }
    if sentences.is_empty() { "no copies and no fills".to_string() } else { sentences.join("; ") }
}

/// `4 layers, 2.0 MiB to save (0.2 %)`
pub fn saving_line(process: &Process) -> String {
    let (count, bytes) = process.to_save();
    format!("{}, {} to save ({:.1} %)", Counted(count, "layer", "layers"), Size(bytes), process.saving() * 100.0)
}

/// A sentence about objects whose construction was not recorded.
pub fn made_unseen_line(process: &Process) -> Option<String> {
    let unseen = process.account.made_unseen();
    (unseen > 0).then(|| {
        format!(
            "{unseen} objects were noticed at an access (the program has the constructor inlined, or called it before the \
             recording): the place of that access stands for their maker"
        )
    })
}

pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

/// `101,486`
#[derive(Clone, Copy)]
pub struct Count(pub u64);

/// `1 copy`, `2 copies`
#[derive(Clone, Copy)]
pub struct Counted(pub u64, pub &'static str, pub &'static str);

/// `11.3 GiB/s`; a dash if there are no bytes or no time was measured.
#[derive(Clone, Copy)]
pub struct Rate {
    pub bytes: u64,
    pub nanoseconds: u64,
}

/// `48.1 %`
#[derive(Clone, Copy)]
pub struct Percent {
    pub part: u64,
    pub of: u64,
}

impl Rate {
    pub fn of(Sum { bytes, nanoseconds, .. }: Sum) -> Rate {
        Rate { bytes, nanoseconds: if bytes == 0 { 0 } else { nanoseconds } }
    }

    /// Bytes in each second; 0: not measured.
    pub fn each_second(self) -> u64 {
        if self.nanoseconds == 0 { 0 } else { (self.bytes as f64 * 1e9 / self.nanoseconds as f64) as u64 }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", percent(self.part, self.of))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.char_indices() {
            if place > 0 && (digits.len() - place) % 3 == 0 {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Count(self.0), if self.0 == 1 { self.1 } else { self.2 })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nanoseconds {
            0 => f.write_str("–"),
            _ => write!(f, "{}/s", Size(self.each_second())),
        }
    }
}

/// Number of rows of a list. One more row sums up the others.
pub const ROWS: usize = 10;

/// Names with bytes, the largest first.
pub struct List {
    pub by: &'static str,
    pub rows: Vec<(String, u64)>,
}

pub struct Held {
    pub bytes: u64,
    pub blocks: u64,
}

impl List {
    fn new(by: &'static str, rows: impl Iterator<Item = (String, u64)>, most: usize) -> List {
        let mut rows: Vec<_> = rows.filter(|&(_, bytes)| bytes > 0).collect();
        rows.sort_by_key(|&(_, bytes)| Reverse(bytes));
        let others = rows.split_off(rows.len().min(most));
        if !others.is_empty() {
            rows.push((
                Counted(others.len() as u64, "other", "others").to_string(),
                others.iter().map(|(_, bytes)| bytes).sum(),
            ));
        }
        List { by, rows }
    }
}

/// Returns who held the memory of a kind at its peak, in lists of at most `most` rows.
pub fn at_peak(process: &Process, kind: Kind, most: usize) -> Vec<List> {
    let held = |at_peak: [u64; 3]| at_peak[kind as usize];
    let roles = process.roles.iter().map(|(role, at_peak)| (role.to_string(), held(*at_peak)));
    let group = |group: &Group| (group.words(), held(group.at_peak));
    let mut lists = vec![
        List::new("role", roles, most),
        List::new("type of layer", process.by_type.iter().map(group), most),
        List::new("the beginning of the layers' names", process.by_name.iter().map(group), most),
        holders(process, |holder| Held { bytes: held(holder.at_peak), blocks: held(holder.blocks_at_peak) }, most),
    ];
    // The beginnings of names are shown only if the first holders have less than half of the memory.
    let sum = |rows: &[(String, u64)]| rows.iter().map(|(_, bytes)| bytes).sum::<u64>();
    let holders = &lists[3].rows;
    if sum(&holders[..holders.len().min(ROWS)]) >= sum(holders) / 2 {
        lists.remove(2);
    }
    lists.retain(|list| !list.rows.is_empty());
    lists
}

pub fn holders(process: &Process, held: impl Fn(&HolderRow) -> Held, most: usize) -> List {
    let row = |holder: &HolderRow| {
        let Held { bytes, blocks } = held(holder);
        // Layers of the same name in several nets have several blocks: perhaps a net was kept by mistake. Places, and memory inside
        // layers, have any number.
        let is_plain = Role::of_name(&holder.who).is_none_or(|role| role == Role::Internal) || blocks < 2;
        let blocks = if is_plain { String::new() } else { format!(", {} blocks", Count(blocks)) };
        (format!("{}{blocks}", holder.who), bytes)
    };
    List::new("holder", process.holders.iter().map(row), most)
}
