//! `cargo +nightly fuzz run model --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| syncedmem_fuzz::model(file));
