//! The repository: dependencies between rooms and crates, links of documents, and generated files, which
//! `UPDATE=1 cargo test --test project` writes.
#![expect(clippy::unwrap_used, reason = "a test answers for what it passes")]

mod api;
mod arrows;
mod checked_in;
mod documents;
mod header;
mod python_types;
mod settings;
mod sources;
