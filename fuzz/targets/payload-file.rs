//! Fuzzes the reader of payload files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::payload_file(data));
