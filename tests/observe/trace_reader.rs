//! The reader of traces takes what is ours, passes over what is not, and says in which line a file is no trace.

use std::io::Cursor;

use crate::trace::reader::{Item, Notes, Reader};
use syncedmem_trace::event::{Event, Site, What};

fn reader(text: &[u8]) -> Reader<Cursor<Vec<u8>>> {
    Reader::new(Cursor::new(text.to_vec()))
}

fn read(text: &str) -> (Vec<Item>, Notes) {
    let mut reader = reader(text.as_bytes());
    let items = reader.by_ref().map(|item| item.unwrap()).collect();
    (items, reader.notes())
}

fn trouble(text: &[u8]) -> String {
    let mut reader = reader(text);
    let trouble = reader.by_ref().find_map(Result::err).unwrap().to_string();
    assert!(reader.next().is_none(), "nothing comes behind it");
    trouble
}

fn process(number: u32, more: &str) -> String {
    format!(
        "{{\"ph\":\"M\",\"pid\":{number},\"tid\":{number},\"name\":\"process_name\",\"cat\":\"syncedmem\",\
         \"args\":{{\"name\":\"p{number}\",\"syncedmem\":\"0.1.0\",\"format\":1{more}}}}},\n"
    )
}

/// A synchronisation at so many microseconds.
fn synchronised(process: u32, time: &str) -> String {
    format!(
        "{{\"ph\":\"X\",\"pid\":{process},\"tid\":1,\"ts\":{time},\"dur\":0.5,\"name\":\"synchronise context\",\
         \"cat\":\"syncedmem\",\"args\":{{\"what\":\"synchronised\"}}}},\n"
    )
}

fn site(process: u32, number: u32, place: &str) -> String {
    format!(
        "{{\"ph\":\"i\",\"pid\":{process},\"tid\":1,\"ts\":1,\"s\":\"t\",\"name\":\"call site\",\"cat\":\"syncedmem\",\
         \"args\":{{\"what\":\"site\",\"site\":{number},\"place\":\"{place}\"}}}},\n"
    )
}

fn named(process: u32, object: u64, name: &str) -> String {
    format!(
        "{{\"ph\":\"i\",\"pid\":{process},\"tid\":1,\"ts\":1,\"s\":\"t\",\"name\":\"object named\",\"cat\":\"syncedmem\",\
         \"args\":{{\"what\":\"named\",\"object\":\"{object:#x}\",\"name\":\"{name}\"}}}},\n"
    )
}

fn mode(process: u32, accesses: bool, compares: bool) -> String {
    format!(
        "{{\"ph\":\"i\",\"pid\":{process},\"tid\":1,\"ts\":1,\"s\":\"t\",\"name\":\"what is so\",\"cat\":\"syncedmem\",\
         \"args\":{{\"what\":\"mode\",\"accesses\":{accesses},\"compares\":{compares}}}}},\n"
    )
}

fn ended(process: u32, object: u64) -> String {
    format!(
        "{{\"ph\":\"i\",\"pid\":{process},\"tid\":1,\"ts\":2,\"s\":\"t\",\"name\":\"object destroyed\",\
         \"cat\":\"syncedmem\",\"args\":{{\"what\":\"ended\",\"object\":\"{object:#x}\"}}}},\n"
    )
}

fn starts(items: &[Item], of: u32) -> Vec<u64> {
    crate::trace::events_of(items, of).iter().map(|event| event.start).collect()
}

fn the_bracket_may_be_missing_or_there() {
    let body = process(1, "") + &synchronised(1, "1.000") + &synchronised(1, "2.000");
    let open = read(&format!("[\n{body}"));
    assert_eq!(starts(&open.0, 1), [1000, 2000]);
    assert_eq!(open.1, Notes { ours: 3, unended: (1, 1), ..Notes::default() });
    let closed = body.trim_end().trim_end_matches(',');
    for text in
        [format!("[\n{closed}\n]\n"), format!("[\n{closed}]"), format!("[{closed}\n,\n]"), format!("[\r\n{body}]\r\n")]
    {
        assert_eq!(read(&text), open, "{text}");
    }
}

fn a_program_that_executes_another_one_has_no_end() {
    let text = "[\n".to_string() + &process(1, "") + &synchronised(1, "1") + &process(1, "");
    let ended = "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"syncedmem_end\",\"cat\":\"syncedmem\",\"args\":{}},\n";
    assert_eq!(read(&(text + ended)).1.unended, (1, 1));
}

fn events_come_in_the_order_of_their_ends_for_each_process() {
    let mut text = "[\n".to_string() + &process(1, "") + &process(2, "");
    for time in ["5", "3.000", "4.25", "1.001", "2"] {
        text += &synchronised(1, time);
        text += &synchronised(2, &format!("1{time}"));
    }
    let (items, notes) = read(&text);
    assert_eq!(starts(&items, 1), [1001, 2000, 3000, 4250, 5000]);
    assert_eq!(starts(&items, 2), [11001, 12000, 13000, 14250, 15000]);
    assert_eq!(notes.late, 0);
}

fn an_event_that_comes_too_late_for_its_place_is_not_lost() {
    let mut text = "[\n".to_string() + &process(1, "");
    (2..40_000).for_each(|time| text += &synchronised(1, &time.to_string()));
    text += &synchronised(1, "1");
    let (items, notes) = read(&text);
    assert_eq!(crate::trace::events_of(&items, 1).len(), 39_999);
    assert_eq!(notes.late, 1);
}

fn nanoseconds_are_exact_however_long_the_machine_has_been_up() {
    let text = "[\n".to_string() + &process(1, "") + &synchronised(1, "9007199254740.993");
    let (items, _) = read(&text);
    assert_eq!(starts(&items, 1), [9_007_199_254_740_993], "no floating-point number is that");
}

fn records_of_other_tools_are_passed_over_whatever_they_hold() {
    let foreign = "{\"ph\":\"X\",\"pid\":\"text\",\"tid\":[],\"ts\":-1.5e3,\"name\":7,\"args\":[1]},\n\
                   {\"ph\":5,\"cat\":\"gpu\"},\n{},\n\
                   {\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":1,\"cat\":\"other\",\"args\":{\"what\":\"synchronised\"}},\n";
    let (items, notes) = read(&format!("[\n{foreign}{}{}", process(1, ""), synchronised(1, "1")));
    assert_eq!(starts(&items, 1), [1000]);
    assert_eq!((notes.foreign, notes.damaged), (4, 0));
}

fn a_last_line_without_an_end_is_reported_and_is_no_error() {
    let whole = "[\n".to_string() + &process(1, "") + &synchronised(1, "1") + &synchronised(1, "2");
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    for cut in last + 1..whole.len() - 2 {
        let (items, notes) = read(&whole[..cut]);
        assert_eq!(starts(&items, 1), [1000], "cut at {cut}");
        assert!(notes.incomplete && notes.damaged == 0, "cut at {cut}");
    }
    for cut in [last, whole.len() - 2, whole.len() - 1, whole.len()] {
        assert!(!read(&whole[..cut]).1.incomplete, "cut at {cut}, between records");
    }
}

fn damaged_lines_are_counted_and_the_first_is_reported() {
    let unknown = synchronised(1, "5").replace("\"what\":\"synchronised\"", "\"what\":\"something new\"");
    let missing = synchronised(1, "5").replace("\"what\":\"synchronised\"", "\"what\":\"filled\",\"side\":\"host\"");
    let text = format!("[\n{}{{\"ph\":\"X\",\"pi\n\0\0\0\n{unknown}{missing}{}", process(1, ""), synchronised(1, "1"));
    let (items, notes) = read(&text);
    assert_eq!(starts(&items, 1), [1000]);
    assert_eq!((notes.damaged, notes.first_damaged), (4, 3));
}

fn a_forked_child_begins_with_what_its_parent_knew() {
    let text = "[\n".to_string()
        + &process(1, "")
        + &mode(1, false, true)
        + &mode(1, true, false)
        + &site(1, 3, "main (program)")
        + &named(1, 0x10, "data")
        + &named(1, 0x20, "gone")
        + &ended(1, 0x20)
        + &process(2, ",\"parent\":1")
        + &site(2, 4, "child (program)");
    let (items, _) = read(&text);
    let of_child: Vec<&Item> = items
        .iter()
        .filter(|item| match item {
            Item::Process { process, .. }
            | Item::Mode { process, .. }
            | Item::Site { process, .. }
            | Item::Name { process, .. } => *process == 2,
            _ => false,
        })
        .collect();
    let place = |number, place: &str| Item::Site { process: 2, site: Site(number), place: place.to_string() };
    assert_eq!(
        of_child,
        [
            &Item::Process { process: 2, name: "p2".to_string(), parent: Some(1) },
            &Item::Mode { process: 2, accesses: true, compares: false },
            &place(3, "main (program)"),
            &Item::Name { process: 2, object: 0x10, name: "data".to_string() },
            &place(4, "child (program)"),
        ]
    );
}

fn a_process_that_begins_again_has_all_its_earlier_events_before_that() {
    let text = "[\n".to_string() + &process(1, "") + &synchronised(1, "9") + &process(1, "") + &synchronised(1, "1");
    let (items, _) = read(&text);
    let shape: Vec<&str> =
        items.iter().map(|item| if matches!(item, Item::Process { .. }) { "P" } else { "e" }).collect();
    assert_eq!(shape, ["P", "e", "P", "e"]);
    assert_eq!(starts(&items, 1), [9000, 1000]);
}

fn what_is_no_trace_is_an_error_that_says_where_and_why() {
    let says = |text: &[u8], words: &str| {
        let trouble = trouble(text);
        assert!(trouble.contains(words), "{trouble}");
    };
    says(b"", "empty");
    says(b"Thread,Time,Action,Pointer,Size,Stream\n1,2,free,0,0,0\n", ".csv");
    says(b"\x7fELF\x02\x01\x01\0\0\n", "line 1");
    says(b"{\"traceEvents\":[]}\n", "line 1: it does not begin with the bracket");
    says(b"[\n{},\nnonsense\n", "line 3: it is no JSON record");
    says(b"[\n{},\n\xff\xfe\n", "line 3: it is not text");
    says(b"[\n{},\n{}\n]\n", "2 records of other tools");
    says(process_of_form(2).as_bytes(), "newer libsyncedmem (form 2)");
    says(&[b"[\n".as_slice(), &vec![b' '; 3 << 20]].concat(), "line 2: it is too long");
}

fn process_of_form(form: u32) -> String {
    format!("[\n{}", process(1, "").replace("\"format\":1", &format!("\"format\":{form}")))
}

fn what_lies_in_the_file_does_not_decide_how_much_memory_is_used() {
    // A million events: what is held back is bounded.
    let line = synchronised(1, "1");
    let text = "[\n".to_string() + &process(1, "") + &line.repeat(200_000);
    let mut reader = reader(text.as_bytes());
    let mut read_ahead = 0;
    let mut events = 0u64;
    while let Some(item) = reader.next() {
        events += u64::from(matches!(item.unwrap(), Item::Event { event: Event { what: What::Synchronised, .. }, .. }));
        read_ahead = read_ahead.max(reader.position() / line.len() as u64 - events);
    }
    assert_eq!(events, 200_000);
    assert!(read_ahead < 20_000, "{read_ahead} lines were held back");
}

crate::support::harness::tests![
    the_bracket_may_be_missing_or_there,
    a_program_that_executes_another_one_has_no_end,
    events_come_in_the_order_of_their_ends_for_each_process,
    an_event_that_comes_too_late_for_its_place_is_not_lost,
    nanoseconds_are_exact_however_long_the_machine_has_been_up,
    records_of_other_tools_are_passed_over_whatever_they_hold,
    a_last_line_without_an_end_is_reported_and_is_no_error,
    damaged_lines_are_counted_and_the_first_is_reported,
    a_forked_child_begins_with_what_its_parent_knew,
    a_process_that_begins_again_has_all_its_earlier_events_before_that,
    what_is_no_trace_is_an_error_that_says_where_and_why,
    what_lies_in_the_file_does_not_decide_how_much_memory_is_used,
];
