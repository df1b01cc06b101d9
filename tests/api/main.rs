//! The checked-in description of the C API is the one that the source gives, and says what the header says.
//! `UPDATE=1 cargo test --test api` writes it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test answers for what it passes")]

mod description;
#[path = "../support/sources.rs"]
mod sources;
mod spelling;

use description::Description;

#[test]
fn the_description_is_the_one_that_the_source_gives() {
    let description = Description::of_sources(sources::sources());
    sources::same_as_checked_in("include/syncedmem.json", &description.to_json(), "api");
}
