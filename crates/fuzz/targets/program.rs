//! `cargo +nightly fuzz run program --features libfuzzer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| syncedmem_fuzz::program(file));
