//! The project itself: its rooms, prose, documents, header and description of the C API. `UPDATE=1 cargo test --test project`
//! writes what is generated.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test answers for what it passes")]

mod api;
mod arrows;
mod checked_in;
mod documents;
#[allow(dead_code, reason = "only the compiler is used here")]
#[path = "../support/folder.rs"]
mod folder;
mod header;
mod prose;
mod snippets;
mod sources;
