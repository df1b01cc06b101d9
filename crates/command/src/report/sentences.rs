//! Sentences that the text and the page share.

use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Duration, Size};

use super::amount::Counted;
use super::batch::{Growth, Room, growth};
use super::facts::{Process, Spent};
use super::rows::Finding;
use super::sharing::Saving;
use super::shown::Shown;

/// Nets of a training and of its tests.
const BATCHES: usize = 3;

/// A number of items that no net is made for.
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
    let asked = shown.fit.map(|bytes| Room { bytes, whose: "", in_use: None });
    let Some(room) = asked.or_else(|| growth.narrowest(process)) else { return String::new() };
    let (whose, bytes, fixed) = (room.whose, Size(room.bytes), Size(growth.fixed(room)));
    match growth.fitting(room) {
        Some(MANY..) => format!("; {whose}{bytes} would hold batch {MANY} and more"),
        Some(batch) => format!("; {whose}{bytes} would hold batch {batch}"),
        None => format!("; {whose}{bytes} would hold no batch, since {fixed} do not depend on it"),
    }
}

/// `--share=all would need 510.0 MiB of these 3.3 GiB`, or what a run that shared needed.
pub fn sharing_lines(process: &Process, shown: Shown) -> Vec<String> {
    let sharing = &process.layers.sharing;
    if let Some(sides) = sharing.shared {
        // As the process says it at its end.
        let shared =
            ["shared memory", "shared device memory"].into_iter().zip(sides).filter(|(_, (needed, _))| *needed > 0);
        return shared
            .map(|(what, (needed, would_be))| format!("{what} needed {} for blobs of {}", Size(needed), Size(would_be)))
            .collect();
    }
    let peak = process.account.memory(Kind::Pageable).peak;
    let [gradients, all] = sharing.savings(peak);
    // Less than a tenth is not worth a word.
    let is_worth = |saving: &Saving| saving.bytes > peak / 10 && saving.bytes < peak;
    if !is_worth(&all) {
        return Vec::new();
    }
    let needs = |saving: Saving| Size(peak - saving.bytes);
    let mut lines = vec![format!("--share=all would need {} of these {}", needs(all), Size(peak))];
    if is_worth(&gradients) {
        lines[0] += &format!("; --share=gradients, which leaves the activations readable, {}", needs(gradients));
    }
    let growths = growth(process);
    let of_nets = |growth: &&Growth| growth.items == all.items && !growth.is_device;
    let largest = growths.iter().find(of_nets).filter(|_| process.bound_that_ended().is_none());
    if let Some(growth) = largest.map(|growth| growth.with(all)).filter(Growth::is_plausible) {
        let fitting = fitting(process, &growth, shown);
        lines.push(format!("with --share=all, one more item would cost {}{fitting}", Size(growth.one_more)));
    }
    lines
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

/// `4 layers, 2.0 MiB to save (0.2 %)`, of advice.
pub fn saving_line(process: &Process, finding: &Finding) -> String {
    let layers = Counted(finding.count, "layer", "layers");
    format!("{layers}, {} to save ({:.1} %)", Size(finding.bytes), process.saving(finding) * 100.0)
}

/// The number of objects whose construction was not seen, if there are any.
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
