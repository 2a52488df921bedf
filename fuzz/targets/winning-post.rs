//! Fuzzes the decoder of WinningPoSt payloads.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::payload(cuzk_synth::Kind::WinningPost, data));
