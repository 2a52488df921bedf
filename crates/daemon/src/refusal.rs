//! Why a call is not answered, as the wire says it.

use cuzk_proof_api::ProofApiError;
use cuzk_queue::QueueError;
use tonic::{Code, Status};

/// Why a call is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    code: Code,
    message: String,
}

impl Refusal {
    /// The request can never be answered as it is.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// It cannot be answered now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::Unavailable, message)
    }

    /// It cannot be answered in the state that things are in.
    pub fn precondition(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message)
    }

    /// A fault of the daemon.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl From<ProofApiError> for Refusal {
    fn from(error: ProofApiError) -> Self {
        let code = match error {
            ProofApiError::DuplicateProofType { .. } | ProofApiError::Library { .. } => {
                Code::Internal
            }
            _ => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<QueueError> for Refusal {
    fn from(error: QueueError) -> Self {
        let code = match error {
            QueueError::TooManyJobs { .. } | QueueError::TooManyBytes { .. } => {
                Code::ResourceExhausted
            }
            QueueError::UnknownJob { .. } => Code::NotFound,
            _ => Code::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Status::new(refusal.code, refusal.message)
    }
}
