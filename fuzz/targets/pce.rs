//! Fuzzes the decoder and the evaluation of PCE files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::pce(data));
