//! `cargo +nightly fuzz run arrays --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| syncedmem_fuzz::arrays(file));
