//! Errors of the command itself, and the exit code of every error.

use cuzk_daemon::DaemonError;
use cuzk_groth16::{Groth16Error, ProofError};
use cuzk_params::ParamsError;
use cuzk_pce::PceError;
use cuzk_proof_api::ProofApiError;
use cuzk_r1cs::R1csError;
use cuzk_synth::SynthError;

/// The system failed.
pub const SYSTEM: u8 = 1;
/// The command line is wrong; clap uses the same code.
pub const USAGE: u8 = 2;
/// An input is wrong.
pub const INPUT: u8 = 3;
/// A proof or a witness does not hold.
pub const INVALID: u8 = 4;
/// A key is missing.
pub const MISSING_KEY: u8 = 5;
/// No daemon answers, or it does not take the call.
pub const NO_DAEMON: u8 = 7;

/// A device that was asked for cannot be used.
pub const DEVICE: u8 = 6;

/// An error with its own exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// An error that ends with this exit code.
pub fn failure(code: u8, message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Failure {
        code,
        message: message.into(),
    })
}

/// An error with its causes. One that repeats its cause's words is not followed by them.
pub fn said(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(words) {
        if !text.ends_with(&cause) {
            text += if text.is_empty() { "" } else { ": " };
            text += &cause;
        }
    }
    text
}

/// What an error says for itself. A call's status prints as for debugging; its message is for people.
fn words(cause: &(dyn std::error::Error + 'static)) -> String {
    match cause.downcast_ref::<tonic::Status>() {
        Some(status) if !status.message().is_empty() => status.message().to_owned(),
        _ => cause.to_string(),
    }
}

/// The exit code of an error: that of the first cause which has one.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(code_of).unwrap_or(SYSTEM)
}

fn code_of(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(failure) = cause.downcast_ref::<Failure>() {
        return Some(failure.code);
    }
    if let Some(error) = cause.downcast_ref::<Groth16Error>() {
        return Some(groth16_code(error));
    }
    if let Some(error) = cause.downcast_ref::<ParamsError>() {
        return Some(params_code(error));
    }
    if let Some(error) = cause.downcast_ref::<PceError>() {
        return Some(pce_code(error));
    }
    if let Some(error) = cause.downcast_ref::<R1csError>() {
        return Some(r1cs_code(error));
    }
    if let Some(error) = cause.downcast_ref::<DaemonError>() {
        return Some(daemon_code(error));
    }
    if let Some(status) = cause.downcast_ref::<tonic::Status>() {
        return Some(match status.code() {
            tonic::Code::InvalidArgument | tonic::Code::NotFound => INPUT,
            tonic::Code::Internal => SYSTEM,
            _ => NO_DAEMON,
        });
    }
    if let Some(error) = cause.downcast_ref::<ProofApiError>() {
        return Some(proof_api_code(error));
    }
    let input = cause.is::<ProofError>() || cause.is::<SynthError>();
    input.then_some(INPUT)
}

fn daemon_code(error: &DaemonError) -> u8 {
    match error {
        DaemonError::Config { .. } | DaemonError::Open { .. } => USAGE,
        DaemonError::Server(_) => NO_DAEMON,
        _ => SYSTEM,
    }
}

fn groth16_code(error: &Groth16Error) -> u8 {
    match error {
        Groth16Error::R1cs(error) => r1cs_code(error),
        Groth16Error::Pce(error) => pce_code(error),
        Groth16Error::Params(error) => params_code(error),
        Groth16Error::Invalid { .. } => INVALID,
        Groth16Error::Backend(_) | Groth16Error::Thread(_) | Groth16Error::Cancelled => SYSTEM,
        _ => INPUT,
    }
}

fn proof_api_code(error: &ProofApiError) -> u8 {
    match error {
        ProofApiError::R1cs(error) => r1cs_code(error),
        ProofApiError::Statement { .. } => INVALID,
        _ => INPUT,
    }
}

fn params_code(error: &ParamsError) -> u8 {
    match error {
        ParamsError::Missing { .. } => MISSING_KEY,
        ParamsError::Io { .. } | ParamsError::Random(_) => SYSTEM,
        _ => INPUT,
    }
}

fn pce_code(error: &PceError) -> u8 {
    match error {
        PceError::R1cs(error) => r1cs_code(error),
        PceError::Io { .. } => SYSTEM,
        _ => INPUT,
    }
}

fn r1cs_code(error: &R1csError) -> u8 {
    match error {
        R1csError::Unsatisfied { .. } => INVALID,
        _ => INPUT,
    }
}

#[cfg(test)]
mod tests {
    use cuzk_groth16::Proof;

    use super::*;

    #[test]
    fn causes_are_said_once() {
        let Err(error) = Proof::from_bytes(&[0; 192]) else {
            panic!("no proof");
        };
        let text = said(&anyhow::Error::new(error).context("partition 0"));
        assert!(text.starts_with("partition 0: proof: A: flags"), "{text}");
        assert_eq!(text.matches("flags").count(), 1, "{text}");
    }

    #[test]
    fn a_call_s_error_is_its_message() {
        let status = tonic::Status::invalid_argument("field job_id: wanted another");
        let error = anyhow::Error::new(status);
        assert_eq!(said(&error), "field job_id: wanted another");
        assert_eq!(exit_code(&error), INPUT);
    }
}
