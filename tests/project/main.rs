//! The project itself: its rooms, prose, documents, headers and exported names. `UPDATE=1 cargo test --test project`
//! writes what is generated.
#![expect(clippy::unwrap_used, reason = "a test answers for what it passes")]

mod api;
mod arrows;
mod checked_in;
mod documents;
mod header;
mod methods;
mod prose;
mod python_types;
mod snippets;
mod sources;
