//! Fuzzes the reader of verifying keys.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::verifying_key(data));
