//! What a prover needs to know of a circuit's variables, with or without its matrices.

use crate::{Column, Density, RankedBitmap, Shape};

/// The classes of a circuit's variables, and with them where a [`crate::PackedWitness`] holds their values.
#[derive(Copy, Clone, Debug)]
pub struct Classes<'a> {
    /// Inputs, aux and constraints.
    pub shape: Shape,
    /// Aux variables of the field class; all others are of the boolean class. As many bits as the shape has aux variables.
    pub field: &'a RankedBitmap,
}

impl Classes<'_> {
    /// Slots of a packed witness: inputs and aux variables of the field class.
    pub fn slots(&self) -> usize {
        self.shape.inputs + self.field.count_ones()
    }

    /// Where a packed witness holds a variable: `Dense(s)` is slot s (the inputs, then the aux variables of the field
    /// class in ascending order), `Sparse(j)` is the bit of aux variable j of the boolean class.
    pub fn place(&self, variable: Column) -> Column {
        match variable {
            Column::Sparse(aux) if self.field.bits().get(aux as usize) => {
                Column::Dense((self.shape.inputs + self.field.rank(aux as usize)) as u32)
            }
            other => other,
        }
    }
}

/// A circuit's variables as one synthesis of it shows them: enough to prove with rows that come evaluated.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Inputs, aux and constraints.
    pub shape: Shape,
    /// Which variables have a point in which query of the key.
    pub density: Density,
    /// Aux variables whose values were neither 0 nor 1. With other values some of the others escape.
    pub field_class: RankedBitmap,
}

impl Outline {
    /// The classes of the variables.
    pub fn classes(&self) -> Classes<'_> {
        Classes {
            shape: self.shape,
            field: &self.field_class,
        }
    }

    /// Bytes in memory.
    pub fn size_bytes(&self) -> usize {
        let Density {
            a_aux,
            b_inputs,
            b_aux,
        } = &self.density;
        let density = [a_aux, b_inputs, b_aux].map(|bits| bits.size_bytes());
        density.iter().sum::<usize>() + self.field_class.size_bytes()
    }
}
