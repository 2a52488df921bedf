//! Fuzzes the decoder of PoRep payloads.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::payload(cuzk_synth::Kind::PoRep, data));
