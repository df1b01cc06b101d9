//! `cargo +nightly fuzz run recording --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| syncedmem_fuzz::recording(file));
