//! Whether a device works: a small computation with a known result.

use cuzk_backend::{Backend, BackendError, Transform};
use cuzk_curve::{EncodedPoints, Fr, G1, G1Affine};
use group::Group;
use group::prime::PrimeCurveAffine;

/// Elements of the vector that is transformed.
const SIZE: u64 = 256;

/// Transforms a vector there and back and adds multiples of the generator; `false` where a result is wrong.
pub(crate) fn works<B: Backend>(backend: &B) -> Result<bool, BackendError> {
    let values: Vec<Fr> = (1..=SIZE).map(Fr::from).collect();
    let mut vector = backend.upload(values.clone())?;
    backend.ntt(&mut vector, Transform::CosetForward)?;
    backend.ntt(&mut vector, Transform::CosetInverse)?;
    if backend.download(vector)? != values {
        return Ok(false);
    }
    let generator = G1Affine::generator();
    let points = EncodedPoints::<G1>::encode(&[generator; SIZE as usize]);
    let bases = backend.load_bases::<G1>(points)?;
    let sum = backend.msm::<G1>(&bases, &backend.upload(values)?)?;
    let wanted = <cuzk_curve::G1Projective as Group>::generator() * Fr::from(SIZE * (SIZE + 1) / 2);
    Ok(sum == wanted)
}
