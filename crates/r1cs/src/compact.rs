//! A compiled circuit's matrices with what the prover needs to know of its variables.

use cuzk_curve::Fr;

use crate::{
    Bitmap, Classes, Column, Matrices, Matrix, R1csError, RankedBitmap, RunBitmap, Shape, ShapeHash,
};

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
    /// What [`CompactR1cs::density`] is derived from.
    pub touched_once: TouchedOnce,
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
        self.classes().slots()
    }

    /// The classes of the variables.
    pub fn classes(&self) -> Classes<'_> {
        Classes {
            shape: self.shape,
            field: &self.field_class,
        }
    }

    /// Which variables have a point in which query of the key. Derived anew at each call, two bits an aux variable: it is
    /// needed once, when a key is made or made resident.
    ///
    /// Errors: [`R1csError::Rows`] where a template does not decode.
    pub fn density(&self) -> Result<Density, R1csError> {
        let TouchedOnce {
            a_aux,
            b_inputs,
            b_aux,
        } = &self.touched_once;
        let a = [Bitmap::zeros(self.shape.inputs), a_aux.to_bitmap()];
        let [_, a_aux] = self.matrices.touched(Matrix::A, a)?;
        let b = [b_inputs.to_bitmap(), b_aux.to_bitmap()];
        let [b_inputs, b_aux] = self.matrices.touched(Matrix::B, b)?;
        Ok(Density {
            a_aux,
            b_inputs,
            b_aux,
        })
    }

    /// Bytes in memory of all that the circuit holds: matrices with what is decoded of them, coefficients, classes with
    /// their ranks, and what the density is derived from. A mapped file's rows are counted as if they were copied.
    pub fn size_bytes(&self) -> usize {
        self.matrices.size_bytes()
            + size_of_val(self.coefficients.as_slice())
            + self.field_class.size_bytes()
            + self.touched_once.size_bytes()
    }

    /// [`Classes::place`].
    pub fn place(&self, variable: Column) -> Column {
        self.classes().place(variable)
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

/// The variables that occur in the rows of templates that occur once. With the templates they say what occurs at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedOnce {
    /// Aux variables in A.
    pub a_aux: RunBitmap,
    /// Inputs in B.
    pub b_inputs: RunBitmap,
    /// Aux variables in B.
    pub b_aux: RunBitmap,
}

impl TouchedOnce {
    /// Reads the rows of templates that occur once.
    ///
    /// Errors: [`R1csError::Rows`] where they do not decode.
    pub fn of(matrices: &Matrices) -> Result<Self, R1csError> {
        let [_, a_aux] = matrices.touched_once(Matrix::A)?;
        let [b_inputs, b_aux] = matrices.touched_once(Matrix::B)?;
        Ok(Self {
            a_aux: RunBitmap::from(&a_aux),
            b_inputs: RunBitmap::from(&b_inputs),
            b_aux: RunBitmap::from(&b_aux),
        })
    }

    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        self.a_aux.size_bytes() + self.b_inputs.size_bytes() + self.b_aux.size_bytes()
    }
}

/// Which variables occur in A and in B with a non-zero coefficient. Every input occurs in A by its input row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Density {
    /// Aux variables in A.
    pub a_aux: Bitmap,
    /// Inputs in B.
    pub b_inputs: Bitmap,
    /// Aux variables in B.
    pub b_aux: Bitmap,
}

impl Density {
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
