//! Fuzzes the reader of proving keys.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::parameters(data));
