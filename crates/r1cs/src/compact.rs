//! A compiled circuit's matrices with what the prover needs to know of its variables.

use cuzk_curve::Fr;

use crate::{Bitmap, RankedBitmap, Rows, Shape, ShapeHash};

/// A circuit's R1CS in compiled form.
///
/// Columns name places in a [`crate::PackedWitness`]: `Dense(s)` is slot s (the inputs, then the aux variables of the
/// field class in ascending order), `Sparse(j)` is aux variable j of the boolean class.
#[derive(Clone, Debug)]
pub struct CompactR1cs {
    /// Inputs, aux and constraints.
    pub shape: Shape,
    /// Identifies the recorded matrices.
    pub hash: ShapeHash,
    /// The distinct coefficients, the most frequent first. [`CompactR1cs::ONE`] is always the first.
    pub coefficients: Vec<Fr>,
    /// The left matrix.
    pub a: Rows,
    /// The right matrix.
    pub b: Rows,
    /// The output matrix.
    pub c: Rows,
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
        self.a.terms() + self.b.terms() + self.c.terms()
    }

    /// Slots of a packed witness: inputs and aux variables of the field class.
    pub fn slots(&self) -> usize {
        self.shape.inputs + self.field_class.bits().count_ones()
    }

    /// The variable behind a slot: an input, or an aux variable of the field class. Used for reports, so it scans.
    pub fn slot_variable(&self, slot: usize) -> crate::Column {
        match slot.checked_sub(self.shape.inputs) {
            None => crate::Column::Dense(slot as u32),
            Some(rank) => {
                let aux = self.field_class.bits().iter_ones().nth(rank);
                crate::Column::Sparse(aux.map_or(u32::MAX, |aux| aux as u32))
            }
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
