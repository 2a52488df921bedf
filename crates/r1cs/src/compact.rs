//! A compiled circuit's matrices with what the prover needs to know of its variables.

use cuzk_curve::Fr;

use crate::{Bitmap, Column, Matrices, Matrix, R1csError, RankedBitmap, Shape, ShapeHash};

/// A circuit's R1CS in compiled form.
///
/// Columns of the matrices name inputs and aux variables; [`CompactR1cs::place`] says where a [`crate::PackedWitness`]
/// holds their values.
#[derive(Clone, Debug)]
pub struct CompactR1cs {
    /// Inputs, aux and constraints.
    pub shape: Shape,
    /// Identifies the recorded matrices.
    pub hash: ShapeHash,
    /// The distinct coefficients, the most frequent first. [`CompactR1cs::ONE`] is always the first.
    pub coefficients: Vec<Fr>,
    /// A, B and C.
    pub matrices: Matrices,
    /// Aux variables of the field class. All others are of the boolean class: the constraints allow only 0 and 1.
    pub field_class: RankedBitmap,
    /// Which variables have a point in which query of the key.
    pub density: Density,
}

impl CompactR1cs {
    /// Index of the coefficient 1.
    pub const ONE: u32 = 0;
    /// Index of the coefficient -1.
    pub const MINUS_ONE: u32 = 1;

    /// Non-zeros of A, B and C together.
    pub fn terms(&self) -> u64 {
        Matrix::ALL
            .iter()
            .map(|&matrix| self.matrices.terms(matrix))
            .sum()
    }

    /// Slots of a packed witness: inputs and aux variables of the field class.
    pub fn slots(&self) -> usize {
        self.shape.inputs + self.field_class.bits().count_ones()
    }

    /// Where a packed witness holds a variable: `Dense(s)` is slot s (the inputs, then the aux variables of the field
    /// class in ascending order), `Sparse(j)` is the bit of aux variable j of the boolean class.
    pub fn place(&self, variable: Column) -> Column {
        match variable {
            Column::Sparse(aux) if self.field_class.bits().get(aux as usize) => {
                Column::Dense((self.shape.inputs + self.field_class.rank(aux as usize)) as u32)
            }
            other => other,
        }
    }
}

/// A set of variables: those that have a point in a query of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableSet {
    /// Which inputs.
    pub inputs: Bitmap,
    /// Which aux variables.
    pub aux: Bitmap,
}

impl VariableSet {
    /// Number of variables in the set.
    pub fn len(&self) -> usize {
        self.inputs.count_ones() + self.aux.count_ones()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Which variables occur in A and in B with a non-zero coefficient. Every input occurs in A by its input row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Density {
    /// Aux variables in A.
    pub a_aux: Bitmap,
    /// Inputs in B.
    pub b_inputs: Bitmap,
    /// Aux variables in B.
    pub b_aux: Bitmap,
}

impl Density {
    /// The density of matrices, given for A and B the inputs and aux variables that occur in the rows of templates that
    /// occur once.
    ///
    /// Errors: [`R1csError`] where a template does not decode.
    pub fn new(matrices: &Matrices, [a, b]: [[Bitmap; 2]; 2]) -> Result<Self, R1csError> {
        let [_, a_aux] = matrices.touched(Matrix::A, a)?;
        let [b_inputs, b_aux] = matrices.touched(Matrix::B, b)?;
        Ok(Self {
            a_aux,
            b_inputs,
            b_aux,
        })
    }

    /// The variables of the key's A query.
    pub fn a(&self, shape: Shape) -> VariableSet {
        VariableSet {
            inputs: Bitmap::ones(shape.inputs),
            aux: self.a_aux.clone(),
        }
    }

    /// The variables of the key's B queries, in G1 and in G2.
    pub fn b(&self) -> VariableSet {
        VariableSet {
            inputs: self.b_inputs.clone(),
            aux: self.b_aux.clone(),
        }
    }

    /// The variables of the key's L query: all aux.
    pub fn l(shape: Shape) -> VariableSet {
        VariableSet {
            inputs: Bitmap::zeros(shape.inputs),
            aux: Bitmap::ones(shape.aux),
        }
    }
}
