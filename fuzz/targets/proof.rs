//! Fuzzes the decoder of proofs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cuzk_fuzz::proof(data));
