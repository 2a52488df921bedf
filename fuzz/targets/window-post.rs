//! Fuzzes the decoder of WindowPoSt payloads.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::payload(cuzk_synth::Kind::WindowPost, data));
