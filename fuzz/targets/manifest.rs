//! Fuzzes the reader of parameters.json.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::manifest(data));
