//! Fuzzes the reader of development marks.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::mark(data));
