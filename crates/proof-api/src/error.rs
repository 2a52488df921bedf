//! What can be wrong with a request.

/// What can be wrong with a request, a circuit's name or a partition.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofApiError {
    /// No proof type of that name or number.
    #[error("no proof type {found}; known: {known}")]
    UnknownProofType {
        /// What was asked for.
        found: String,
        /// The identifiers that exist.
        known: String,
    },
    /// Two crates registered the same proof type.
    #[error("two proof types are registered as {id}")]
    DuplicateProofType {
        /// The identifier.
        id: String,
    },
    /// No circuit of that name.
    #[error("no circuit {found}; known: {known}")]
    UnknownCircuit {
        /// What was asked for.
        found: String,
        /// The identifiers that exist.
        known: String,
    },
    /// A field of a request that holds something else than it must.
    #[error("field {field}: wanted {wanted}, found {found}")]
    Field {
        /// The field, as `cuzk.v1` names it, with an index or path where it is a list or a document.
        field: String,
        /// What was wanted.
        wanted: String,
        /// What was found.
        found: String,
    },
    /// A partition that the job does not have.
    #[error("partition {found}: the job has {partitions}")]
    Partition {
        /// The partition that was asked for.
        found: usize,
        /// How many there are.
        partitions: usize,
    },
    /// The vanilla proof does not satisfy the proof type's own check, so no proof can come of it.
    #[error("the vanilla proof is not valid: {message}")]
    InvalidVanillaProof {
        /// What the check said.
        message: String,
    },
    /// The circuit's witness is of another statement than the job's: a proof of it would prove something else.
    #[error(
        "public input {input} of partition {partition} is not the statement's: wanted {wanted}, found {found}"
    )]
    Statement {
        /// The partition.
        partition: usize,
        /// The first public input that differs, ONE not counted.
        input: usize,
        /// What the statement says, or that it has no such input.
        wanted: String,
        /// What the circuit yields, or that it has no such input.
        found: String,
    },
    /// The proof type's own library failed.
    #[error("{what}: {message}")]
    Library {
        /// What was being done.
        what: &'static str,
        /// What the library said.
        message: String,
    },
    /// The circuit's synthesis, or a witness that is not of its circuit.
    #[error(transparent)]
    R1cs(#[from] cuzk_r1cs::R1csError),
}

impl ProofApiError {
    /// A [`ProofApiError::Field`].
    pub fn field(
        field: impl Into<String>,
        wanted: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Field {
            field: field.into(),
            wanted: wanted.into(),
            found: found.into(),
        }
    }
}
