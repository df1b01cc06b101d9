//! `cargo +nightly fuzz run encoding --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| syncedmem_fuzz::encoding(file));
