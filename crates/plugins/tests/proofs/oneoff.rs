//! One-off timings.
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use std::time::Instant;
use crate::support::{decode, request};
fn rss(k: &str) -> u64 { std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with(k)).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap() }
#[test]
fn oneoff() {
    for kind in [Kind::PoRep, Kind::WindowPost, Kind::Snap] {
        let t = Instant::now();
        let r = request(&synthetic(kind, SectorSize::GIB_32, &Options::default()).unwrap());
        println!("{kind} synth {:?} rss {} MB", t.elapsed(), rss("VmRSS")/1024);
        let t = Instant::now();
        let job = decode(kind, &r).unwrap();
        println!("{kind} decode {:?} rss {} peak {} MB; payload {} MB", t.elapsed(), rss("VmRSS")/1024, rss("VmHWM")/1024, (r.vanilla_proof.len() + r.vanilla_proofs.iter().map(Vec::len).sum::<usize>()) >> 20);
        let t = Instant::now(); job.self_check().unwrap(); println!("{kind} self_check {:?}", t.elapsed());
        let t = Instant::now(); job.public_inputs(0).unwrap(); println!("{kind} inputs {:?}", t.elapsed());
        let t = Instant::now(); let c = job.circuit(0).unwrap(); println!("{kind} circuit {:?}", t.elapsed()); drop(c);
    }
}
