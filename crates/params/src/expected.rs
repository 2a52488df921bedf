//! The counts that a circuit's key must have.

use std::path::Path;

use crate::{Parameters, ParamsError, Section};

/// What a circuit says about its key.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Public inputs, ONE among them.
    pub inputs: usize,
    /// Private variables.
    pub aux: usize,
    /// Size of the evaluation domain, a power of two.
    pub domain: usize,
    /// Aux variables that stand in A. (All inputs do: each has a row of its own there.)
    pub a_aux: usize,
    /// Inputs that stand in B.
    pub b_inputs: usize,
    /// Aux variables that stand in B.
    pub b_aux: usize,
}

impl Expected {
    /// Compares the counts of a key with the circuit's.
    pub(crate) fn check(&self, file: &Path, key: &Parameters) -> Result<(), ParamsError> {
        let b = self.b_inputs + self.b_aux;
        let counts = [
            (Section::Ic, self.inputs, key.vk().ic.len()),
            (Section::H, self.domain.saturating_sub(1), key.h().len()),
            (Section::L, self.aux, key.l().len()),
            (Section::A, self.inputs + self.a_aux, key.a().len()),
            (Section::BG1, b, key.b_g1().len()),
            (Section::BG2, b, key.b_g2().len()),
        ];
        match counts
            .into_iter()
            .find(|(_, wanted, found)| wanted != found)
        {
            None => Ok(()),
            Some((section, wanted, found)) => Err(ParamsError::Count {
                file: file.to_path_buf(),
                section,
                wanted,
                found,
            }),
        }
    }
}
