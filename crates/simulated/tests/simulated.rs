//! Simulated devices compute what the CPU backend computes, hold their memory bound, and see what they must see.

use std::sync::Arc;
use std::time::Duration;

use cuzk_backend::{BackendError, Evaluations, MatVec, Msm, Ntt, Vectors, conformance};
use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{EncodedPoints, Fr, G1};
use cuzk_pce::Pce;
use cuzk_r1cs::{PackedWitness, synthesize};
use cuzk_simulated::{Fault, Settings, SimulatedBackend, SimulatedDevice, Step, Witness};
use cuzk_testing::circuits::Cubic;
use ff::Field;
use group::prime::PrimeCurveAffine;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn cubic() -> (Pce, Arc<PackedWitness>) {
    let mut recording = RecordingCS::default();
    synthesize(Cubic { x: None }, &mut recording).unwrap();
    let pce = Pce::compile(recording.finish().unwrap()).unwrap();
    let mut cs = WitnessCS::default();
    let circuit = Cubic {
        x: Some(Fr::from(3)),
    };
    synthesize(circuit, &mut cs).unwrap();
    let witness = pce.pack(cs.into_assignment()).unwrap();
    (pce, Arc::new(witness))
}

fn device(memory_bytes: u64) -> SimulatedDevice {
    SimulatedDevice::new(
        "simulated 0",
        Settings {
            memory_bytes,
            ..Settings::default()
        },
    )
}

#[test]
fn conforms() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let device = device(1 << 30);
    let lane = device.lane(0);
    let (pce, witness) = cubic();
    conformance::matrices(&lane, pce.r1cs(), &witness, &mut rng).unwrap();

    let values = [1, 2, 3, 4].map(Fr::from).to_vec();
    let pair = || Evaluations {
        a: lane.upload(values.clone()).unwrap(),
        b: lane.upload(values.clone()).unwrap(),
    };
    let quotient = lane.quotient(pair()).unwrap();
    let points = EncodedPoints::<G1>::encode(&[PrimeCurveAffine::generator(); 4]);
    let bases = lane.load_bases(points.clone()).unwrap();
    let sum = lane.msm(&bases, &quotient).unwrap();
    let wanted = Evaluations {
        a: values.clone(),
        b: values.clone(),
    };
    let wanted = CpuBackend.quotient(wanted).unwrap();
    assert_eq!(sum, CpuBackend.msm(&points, &wanted).unwrap());
    assert_eq!(lane.download(quotient).unwrap(), wanted);
    drop(bases);
    let report = device.report();
    assert_eq!((report.used_bytes, report.in_flight), (0, 0));
    assert_eq!(report.violations, 0);
}

#[test]
fn memory_is_bounded_and_given_back() {
    let device = device(64);
    let lane = device.lane(0);
    let two = lane.upload(vec![Fr::ONE; 2]).unwrap();
    let refused = lane.upload(vec![Fr::ONE]).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("out of memory: wanted 32 bytes, 0 are free"),
        "{refused}"
    );
    drop(two);
    lane.upload(vec![Fr::ONE; 2]).unwrap();
    let report = device.report();
    assert_eq!((report.used_bytes, report.peak_bytes), (0, 64));
}

#[test]
fn two_works_in_a_lane_are_seen_and_spoil_results() {
    let (pce, witness) = cubic();
    let device = device(1 << 20);
    let (lane, same, other) = (device.lane(0), device.lane(0), device.lane(1));
    let matrices = lane.load_matrices(Arc::clone(pce.r1cs())).unwrap();
    let product = |lane: &SimulatedBackend, loaded: &Witness| {
        lane.download(lane.mat_vec(&matrices, loaded).unwrap().a)
            .unwrap()
    };
    let first = lane.load_witness(Arc::clone(&witness)).unwrap();
    let beside = other.load_witness(Arc::clone(&witness)).unwrap();
    let right = product(&lane, &first);
    assert_eq!(product(&other, &beside), right);
    assert_eq!(device.report().violations, 0);

    let second = same.load_witness(Arc::clone(&witness)).unwrap();
    assert_eq!(device.report().violations, 1);
    assert_eq!(device.report().in_flight, 3);
    assert_ne!(product(&lane, &first), right);
    assert_eq!(product(&other, &beside), right);
    drop((first, second));
    let alone = lane.load_witness(witness).unwrap();
    assert_eq!(product(&lane, &alone), right);
}

#[test]
fn faults_happen_as_often_as_injected() {
    let device = device(1 << 20);
    let lane = device.lane(0);
    let points = || EncodedPoints::<G1>::encode(&[PrimeCurveAffine::generator()]);
    let bases = lane.load_bases(points()).unwrap();
    let scalars = lane.upload(vec![Fr::from(7)]).unwrap();
    let sum = || lane.msm::<G1>(&bases, &scalars);
    let right = sum().unwrap();

    device.inject(Step::Msm, Fault::Error, 2);
    device.inject(Step::Msm, Fault::OutOfMemory, 1);
    device.inject(Step::Msm, Fault::WrongResult, 1);
    device.inject(Step::Msm, Fault::Slow(Duration::from_millis(1)), 1);
    for message in ["an injected error", "an injected error", "out of memory"] {
        let error = sum().unwrap_err();
        let short = message == "out of memory";
        let (device, call) = match &error {
            BackendError::Device { device, call, .. } if !short => (device, call),
            BackendError::OutOfMemory { device, call, .. } if short => (device, call),
            other => panic!("{other}"),
        };
        assert_eq!((device.as_str(), *call), ("simulated 0", "MSM"));
        assert!(error.to_string().contains(message), "{error}");
    }
    assert_ne!(sum().unwrap(), right);
    assert_eq!(sum().unwrap(), right);

    device.inject(Step::Msm, Fault::Error, usize::MAX);
    assert!(sum().is_err());
    device.heal();
    assert_eq!(sum().unwrap(), right);
}

#[test]
fn what_hangs_goes_on_when_the_device_is_healed() {
    let device = device(1 << 20);
    device.inject(Step::LoadPoints, Fault::Hang, 1);
    std::thread::scope(|scope| {
        let points = EncodedPoints::<G1>::encode(&[PrimeCurveAffine::generator()]);
        let load = scope.spawn(|| device.lane(0).load_bases::<G1>(points).is_ok());
        while device.report().hanging == 0 {
            std::thread::yield_now();
        }
        assert!(!load.is_finished());
        device.heal();
        assert!(load.join().unwrap());
    });
    assert_eq!(device.report().hanging, 0);
}
