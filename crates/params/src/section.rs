//! The parts of a key, in the order of the file.

use std::fmt;

/// A part of a `.params` or `.vk` file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// alpha in G1.
    AlphaG1,
    /// beta in G1.
    BetaG1,
    /// beta in G2.
    BetaG2,
    /// gamma in G2.
    GammaG2,
    /// delta in G1.
    DeltaG1,
    /// delta in G2.
    DeltaG2,
    /// One point for each public input, ONE among them.
    Ic,
    /// The powers of tau times t(tau) / delta.
    H,
    /// One point for each aux variable.
    L,
    /// The A query: a point for each variable that stands in A.
    A,
    /// The B query in G1: a point for each variable that stands in B.
    BG1,
    /// The B query in G2, for the same variables.
    BG2,
}

impl Section {
    /// The sections that follow the verifying key, in order.
    pub const QUERIES: [Self; 5] = [Self::H, Self::L, Self::A, Self::BG1, Self::BG2];

    /// The name as in the paper and in bellperson.
    pub fn name(self) -> &'static str {
        match self {
            Self::AlphaG1 => "alpha_g1",
            Self::BetaG1 => "beta_g1",
            Self::BetaG2 => "beta_g2",
            Self::GammaG2 => "gamma_g2",
            Self::DeltaG1 => "delta_g1",
            Self::DeltaG2 => "delta_g2",
            Self::Ic => "ic",
            Self::H => "h",
            Self::L => "l",
            Self::A => "a",
            Self::BG1 => "b_g1",
            Self::BG2 => "b_g2",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
