//! The oracles that every backend is held to.
//!
//! Each function checks one operation against its definition, at sizes that straddle edges, and says where it differs.
//! A backend's tests call [`operations`] with a source of random numbers, and [`matrices`] with each circuit that they
//! have:
//!
//! ```ignore
//! #[test]
//! fn conforms() {
//!     cuzk_backend::conformance::operations(&MyBackend::new(), &mut rng).unwrap();
//! }
//! ```

use std::sync::Arc;

use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use cuzk_r1cs::{
    Assignment, Bitmap, Classes, Column, CompactR1cs, Density, Matrix, PackedWitness, R1csError,
    RankedBitmap, RowVector, Value, VariableSet,
};
use ff::{Field, PrimeField};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group as _};
use rand_core::RngCore;

use crate::{Backend, BackendError, Evaluations, Transform};

/// Where a backend departs from an operation's definition.
#[derive(Debug, thiserror::Error)]
pub enum Departure {
    /// The operation failed.
    #[error("{operation} at size {size}: {source}")]
    Failed {
        /// The operation.
        operation: &'static str,
        /// The size at which it failed.
        size: usize,
        /// What the backend said.
        source: BackendError,
    },
    /// The operation gave another result.
    #[error("{operation} at size {size}, {case}: the result differs from its definition")]
    Differs {
        /// The operation.
        operation: &'static str,
        /// The size at which it differs.
        size: usize,
        /// The kind of input.
        case: &'static str,
    },
    /// The operation accepted input that its contract refuses.
    #[error("{operation} accepted {case}")]
    Accepted {
        /// The operation.
        operation: &'static str,
        /// The kind of input.
        case: &'static str,
    },
}

type Check = Result<(), Departure>;

fn equal<T: PartialEq>(
    operation: &'static str,
    size: usize,
    case: &'static str,
    pair: (T, T),
) -> Check {
    if pair.0 == pair.1 {
        Ok(())
    } else {
        Err(Departure::Differs {
            operation,
            size,
            case,
        })
    }
}

fn failed(operation: &'static str, size: usize) -> impl FnOnce(BackendError) -> Departure {
    move |source| Departure::Failed {
        operation,
        size,
        source,
    }
}

/// Checks transforms, quotient, multi-scalar and fixed-base multiplication.
pub fn operations<B: Backend>(backend: &B, rng: &mut impl RngCore) -> Check {
    for log_size in 0..=9 {
        transforms(backend, log_size, rng)?;
        quotient(backend, 1 << log_size, rng)?;
    }
    refusals(backend)?;
    for size in [0, 1, 2, 31, 32, 33, 237, 511, 512, 513] {
        multiplications::<B, G1>(backend, size, rng)?;
    }
    for size in [0, 1, 2, 33, 130] {
        multiplications::<B, G2>(backend, size, rng)?;
    }
    Ok(())
}

fn random(count: usize, rng: &mut impl RngCore) -> Vec<Fr> {
    (0..count).map(|_| Fr::random(&mut *rng)).collect()
}

fn omega(log_size: u32) -> Fr {
    (log_size..Fr::S).fold(Fr::ROOT_OF_UNITY, |w, _| w.square())
}

/// The values of a polynomial at shift * omega^i, by Horner's rule.
fn values(coefficients: &[Fr], shift: Fr) -> Vec<Fr> {
    let omega = omega(coefficients.len().trailing_zeros());
    let points = std::iter::successors(Some(shift), |x| Some(x * omega));
    let horner = |x: Fr| {
        coefficients
            .iter()
            .rev()
            .fold(Fr::ZERO, |sum, c| sum * x + c)
    };
    points.take(coefficients.len()).map(horner).collect()
}

fn transforms<B: Backend>(backend: &B, log_size: u32, rng: &mut impl RngCore) -> Check {
    let size = 1 << log_size;
    let run = |input: &[Fr], transform| {
        let mut vector = backend.upload(input.to_vec())?;
        backend.ntt(&mut vector, transform)?;
        backend.download(vector)
    };
    let coefficients = random(size, rng);
    let generator = Fr::MULTIPLICATIVE_GENERATOR;
    for (name, forward, inverse, shift) in [
        ("ntt", Transform::Forward, Transform::Inverse, Fr::ONE),
        (
            "coset ntt",
            Transform::CosetForward,
            Transform::CosetInverse,
            generator,
        ),
    ] {
        let wanted = values(&coefficients, shift);
        let found = run(&coefficients, forward).map_err(failed(name, size))?;
        equal(name, size, "forward", (&found, &wanted))?;
        let back = run(&wanted, inverse).map_err(failed(name, size))?;
        equal(name, size, "inverse", (&back, &coefficients))?;
    }
    Ok(())
}

/// h (x^m - 1) = a b - c at a random point, with a, b and c interpolated by their definition.
fn quotient<B: Backend>(backend: &B, size: usize, rng: &mut impl RngCore) -> Check {
    let (a, b) = (random(size, rng), random(size, rng));
    let run = || {
        backend.download(backend.quotient(Evaluations {
            a: backend.upload(a.clone())?,
            b: backend.upload(b.clone())?,
        })?)
    };
    let h = run().map_err(failed("quotient", size))?;
    equal("quotient", size, "length", (h.len(), size))?;
    equal(
        "quotient",
        size,
        "last coefficient",
        (h[size - 1], Fr::ZERO),
    )?;
    let x = Fr::random(rng);
    let basis = lagrange(size, x);
    let at = |values: &mut dyn Iterator<Item = Fr>| -> Fr {
        values.zip(&basis).map(|(value, l)| value * l).sum()
    };
    let a_x = at(&mut a.iter().copied());
    let b_x = at(&mut b.iter().copied());
    let c_x = at(&mut a.iter().zip(&b).map(|(a, b)| a * b));
    let h_x = h.iter().rev().fold(Fr::ZERO, |sum, c| sum * x + c);
    let vanishing = x.pow_vartime([size as u64]) - Fr::ONE;
    equal(
        "quotient",
        size,
        "random",
        (h_x * vanishing, a_x * b_x - c_x),
    )
}

/// All Lagrange polynomials of the domain at x: l_i(x) = omega^i (x^m - 1) / (m (x - omega^i)).
fn lagrange(size: usize, x: Fr) -> Vec<Fr> {
    let omega = omega(size.trailing_zeros());
    let vanishing = x.pow_vartime([size as u64]) - Fr::ONE;
    let powers = std::iter::successors(Some(Fr::ONE), |w| Some(w * omega));
    let value = |w: Fr| {
        let inverse: Option<Fr> = ((x - w) * Fr::from(size as u64)).invert().into();
        vanishing * w * inverse.unwrap_or(Fr::ZERO)
    };
    powers.take(size).map(value).collect()
}

fn refusals<B: Backend>(backend: &B) -> Check {
    for size in [0, 3, 6] {
        let vector = backend.upload(vec![Fr::ONE; size]);
        let mut vector = vector.map_err(failed("upload", size))?;
        if backend.ntt(&mut vector, Transform::Forward).is_ok() {
            return Err(Departure::Accepted {
                operation: "ntt",
                case: "a size that is not a power of two",
            });
        }
    }
    let short = |n: usize| {
        backend
            .upload(vec![Fr::ONE; n])
            .map_err(failed("upload", n))
    };
    let evaluations = Evaluations {
        a: short(4)?,
        b: short(8)?,
    };
    if backend.quotient(evaluations).is_ok() {
        return Err(Departure::Accepted {
            operation: "quotient",
            case: "two lengths",
        });
    }
    let bases = backend.load_bases(EncodedPoints::<G1>::encode(
        &[PrimeCurveAffine::generator(); 3],
    ));
    let bases = bases.map_err(failed("load_bases", 3))?;
    if backend.msm::<G1>(&bases, &short(2)?).is_ok() {
        return Err(Departure::Accepted {
            operation: "msm",
            case: "fewer scalars than bases",
        });
    }
    Ok(())
}

/// Scalars that matter, by name.
fn scalar_cases(size: usize, rng: &mut impl RngCore) -> Vec<(&'static str, Vec<Fr>)> {
    let bits = (0..size)
        .map(|_| Fr::from(u64::from(rng.next_u32() & 1)))
        .collect();
    let mixed = (0..size)
        .map(|i| match i % 4 {
            0 => Fr::ZERO,
            1 => Fr::ONE,
            2 => -Fr::ONE,
            _ => Fr::random(&mut *rng),
        })
        .collect();
    vec![
        ("all zero", vec![Fr::ZERO; size]),
        ("all one", vec![Fr::ONE; size]),
        ("all r - 1", vec![-Fr::ONE; size]),
        ("one bucket", vec![Fr::from(0xabcd); size]),
        ("bits", bits),
        ("mixed", mixed),
        ("random", random(size, rng)),
    ]
}

/// Bases that matter, by name.
fn base_cases<G: Group>(
    size: usize,
    rng: &mut impl RngCore,
) -> Vec<(&'static str, Vec<G::Affine>)> {
    let point = |rng: &mut _| G::Projective::random(rng);
    let distinct: Vec<G::Affine> = (0..size).map(|_| point(&mut *rng).to_affine()).collect();
    let one: G::Affine = point(rng).to_affine();
    let signed = |i: usize| if i.is_multiple_of(2) { one } else { -one };
    let with_infinity = |i: usize| match i % 3 {
        0 => G::Affine::identity(),
        _ => distinct[i],
    };
    vec![
        ("all bases equal", vec![one; size]),
        ("P and -P", (0..size).map(signed).collect()),
        ("infinities", (0..size).map(with_infinity).collect()),
        ("distinct bases", distinct.clone()),
    ]
}

fn multiplications<B: Backend, G: Group>(
    backend: &B,
    size: usize,
    rng: &mut impl RngCore,
) -> Check {
    for (_, bases) in base_cases::<G>(size, rng) {
        for (case, scalars) in scalar_cases(size, rng) {
            let products = bases.iter().zip(&scalars).map(|(p, s)| *p * *s);
            let wanted: G::Projective = products.sum();
            let run = || {
                let loaded = backend.load_bases::<G>(EncodedPoints::encode(&bases))?;
                backend.msm::<G>(&loaded, &backend.upload(scalars.clone())?)
            };
            let found = run().map_err(failed("msm", size))?;
            equal("msm", size, case, (found, wanted))?;
        }
    }
    let base: G::Affine = G::Projective::random(&mut *rng).to_affine();
    for (case, scalars) in scalar_cases(size, rng) {
        let wanted: Vec<G::Affine> = scalars.iter().map(|s| (base * *s).to_affine()).collect();
        let found = backend.fixed_base::<G>(&base, &scalars);
        let found = found.map_err(failed("fixed_base", size))?;
        equal("fixed_base", size, case, (found, wanted))?;
    }
    Ok(())
}

/// Checks the matrix-vector product of a circuit and the sums over its variables, for one witness: with the circuit's
/// classes, and with those of the witness's values and its rows evaluated, as a synthesis without matrices has them.
pub fn matrices<B: Backend>(
    backend: &B,
    r1cs: &Arc<CompactR1cs>,
    witness: &Arc<PackedWitness>,
    rng: &mut impl RngCore,
) -> Check {
    let size = r1cs.shape.domain();
    let run = || {
        let loaded = backend.load_matrices(Arc::clone(r1cs))?;
        let witness = backend.load_witness(Arc::clone(witness))?;
        let evaluations = backend.mat_vec(&loaded, &witness)?;
        Ok([
            backend.download(evaluations.a)?,
            backend.download(evaluations.b)?,
        ])
    };
    let [a, b] = run().map_err(failed("mat_vec", size))?;
    let wanted = |matrix, input_rows| {
        let values = padded(r1cs, matrix, witness, input_rows).map_err(BackendError::from);
        values.map_err(failed("mat_vec", size))
    };
    let rows = [wanted(Matrix::A, true)?, wanted(Matrix::B, false)?];
    equal("mat_vec", size, "A", (&a, &rows[0]))?;
    equal("mat_vec", size, "B", (&b, &rows[1]))?;
    for values in &rows {
        uploaded_rows(backend, values, r1cs.shape.constraints)?;
    }
    let density = r1cs.density();
    let density = density.map_err(|e| failed("density", r1cs.shape.aux)(e.into()))?;
    queries::<B, G1>(backend, r1cs.classes(), &density, witness, rng)?;
    queries::<B, G2>(backend, r1cs.classes(), &density, witness, rng)?;
    let (assignment, field) = by_values(r1cs, witness);
    let classes = Classes {
        shape: r1cs.shape,
        field: &field,
    };
    let packed = assignment.pack_by(classes);
    let packed = packed.map_err(|e| failed("pack_by", r1cs.shape.aux)(e.into()))?;
    let packed = Arc::new(packed);
    queries::<B, G1>(backend, classes, &density, &packed, rng)?;
    queries::<B, G2>(backend, classes, &density, &packed, rng)
}

/// The first rows of a vector, the others being zeros, by parts.
fn uploaded_rows<B: Backend>(backend: &B, values: &[Fr], constraints: usize) -> Check {
    let (operation, size) = ("upload_rows", values.len());
    let zeros = values.iter().rev().take_while(|value| **value == Fr::ZERO);
    let count = (size - zeros.count()).max(constraints);
    let mut rows = RowVector::default();
    for chunk in values[..count].chunks(count / 3 + 1) {
        let mut part = RowVector::default();
        chunk.iter().for_each(|value| part.push(*value));
        rows.append(&part);
    }
    let found = backend.upload_rows(&rows, size);
    let found = found.and_then(|rows| backend.download(rows));
    let found = found.map_err(failed(operation, size))?;
    equal(operation, size, "rows and zeros", (&found[..], values))?;
    rows = RowVector::default();
    (0..=size).for_each(|_| rows.push(Fr::ONE));
    if backend.upload_rows(&rows, size).is_ok() {
        let case = "more rows than the domain has elements";
        return Err(Departure::Accepted { operation, case });
    }
    Ok(())
}

/// The assignment, and as the field class the aux variables whose values are neither 0 nor 1.
fn by_values(r1cs: &CompactR1cs, witness: &PackedWitness) -> (Assignment, RankedBitmap) {
    let mut field = Bitmap::zeros(r1cs.shape.aux);
    let value = |aux: usize| witness.value(r1cs.place(Column::Sparse(aux as u32)));
    let aux: Vec<Fr> = (0..r1cs.shape.aux)
        .map(|aux| value(aux).map_or(Fr::ZERO, Fr::from))
        .collect();
    for (index, value) in aux.iter().enumerate() {
        if let Value::Field(_) = Value::from(*value) {
            field.set(index);
        }
    }
    let assignment = Assignment::new(witness.inputs().to_vec(), aux);
    (assignment, RankedBitmap::new(field))
}

/// A matrix times the witness term by term, with input rows (A has them) and zeros up to the domain.
fn padded(
    r1cs: &CompactR1cs,
    matrix: Matrix,
    witness: &PackedWitness,
    input_rows: bool,
) -> Result<Vec<Fr>, R1csError> {
    let mut out = Vec::with_capacity(r1cs.shape.domain());
    let rows = 0..r1cs.shape.constraints;
    r1cs.matrices.for_each_row(matrix, rows, |row| {
        let values = row.iter().map(|term| {
            let value = witness
                .value(r1cs.place(term.column))
                .map_or(Fr::ZERO, Fr::from);
            r1cs.coefficients[term.coefficient as usize] * value
        });
        out.push(values.sum());
        Ok(())
    })?;
    if input_rows {
        out.extend_from_slice(witness.inputs());
    }
    out.resize(r1cs.shape.domain(), Fr::ZERO);
    Ok(out)
}

fn queries<B: Backend, G: Group>(
    backend: &B,
    classes: Classes<'_>,
    density: &Density,
    witness: &Arc<PackedWitness>,
    rng: &mut impl RngCore,
) -> Check {
    let shape = classes.shape;
    for (case, set) in [
        ("A query", density.a(shape)),
        ("B query", density.b()),
        ("L query", Density::l(shape)),
    ] {
        let values = variables(classes, &set, witness);
        let bases: Vec<G::Affine> = (0..values.len())
            .map(|_| G::Projective::random(&mut *rng).to_affine())
            .collect();
        let wanted: G::Projective = bases.iter().zip(&values).map(|(p, v)| *p * *v).sum();
        let run = || {
            let encoded = EncodedPoints::<G>::encode(&bases);
            let query = backend.load_query::<G>(encoded, Arc::new(set.clone()), classes)?;
            let witness = backend.load_witness(Arc::clone(witness))?;
            backend.msm_query::<G>(&query, &witness)
        };
        let found = run().map_err(failed("msm_query", values.len()))?;
        equal("msm_query", values.len(), case, (found, wanted))?;
    }
    Ok(())
}

/// The values of a set's variables, in the order of their points.
fn variables(classes: Classes<'_>, set: &VariableSet, witness: &PackedWitness) -> Vec<Fr> {
    let inputs = set.inputs.iter_ones().map(|i| Column::Dense(i as u32));
    let aux = set
        .aux
        .iter_ones()
        .map(|j| classes.place(Column::Sparse(j as u32)));
    let value = |column| witness.value(column).map_or(Fr::ZERO, Fr::from);
    inputs.chain(aux).map(value).collect()
}
