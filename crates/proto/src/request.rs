//! Between the wire's request and the request as the proof types read it.

use cuzk_proof_api::Request;
use prost::Message;

use crate::v1::{ProofKind, SubmitProofRequest};

/// The part of a submission that a proof type reads.
pub fn to_request(submit: SubmitProofRequest) -> Request {
    Request {
        sector_size: submit.sector_size,
        registered_proof: submit.registered_proof,
        vanilla_proof: submit.vanilla_proof,
        vanilla_proofs: submit.vanilla_proofs,
        sector_number: submit.sector_number,
        miner_id: submit.miner_id,
        randomness: submit.randomness,
        partition_index: submit.partition_index,
        comm_r_old: submit.comm_r_old,
        comm_r_new: submit.comm_r_new,
        comm_d_new: submit.comm_d_new,
    }
}

/// The submission of a request, of a proof type with this number, without a name and with the type's usual priority.
pub fn from_request(request: Request, wire_kind: i32) -> SubmitProofRequest {
    SubmitProofRequest {
        request_id: String::new(),
        proof_kind: wire_kind,
        sector_size: request.sector_size,
        registered_proof: request.registered_proof,
        priority: 0,
        vanilla_proof: request.vanilla_proof,
        vanilla_proofs: request.vanilla_proofs,
        sector_number: request.sector_number,
        miner_id: request.miner_id,
        randomness: request.randomness,
        partition_index: request.partition_index,
        comm_r_old: request.comm_r_old,
        comm_r_new: request.comm_r_new,
        comm_d_new: request.comm_d_new,
    }
}

/// What a submission is about: its encoding without name and priority, which do not change the proof.
///
/// Equal submissions have equal bytes whatever client encoded them, and the bytes decode to the submission again.
pub fn identity_bytes(mut submit: SubmitProofRequest) -> Vec<u8> {
    submit.request_id.clear();
    submit.priority = 0;
    submit.encode_to_vec()
}

/// The name of a kind as the interface spells it, or its number where it has none.
pub fn kind_name(wire_kind: i32) -> String {
    match ProofKind::try_from(wire_kind) {
        Ok(kind) => kind.as_str_name().to_owned(),
        Err(_) => wire_kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field with a value of its own.
    fn full() -> SubmitProofRequest {
        SubmitProofRequest {
            request_id: "porep-1000-1".to_owned(),
            proof_kind: 1,
            sector_size: 2048,
            registered_proof: 5,
            priority: 4,
            vanilla_proof: vec![1, 2],
            vanilla_proofs: vec![vec![3], vec![], vec![4]],
            sector_number: 6,
            miner_id: 1000,
            randomness: vec![7; 32],
            partition_index: 8,
            comm_r_old: vec![9; 32],
            comm_r_new: vec![10; 32],
            comm_d_new: vec![11; 32],
        }
    }

    #[test]
    fn nothing_but_name_and_priority_is_lost() {
        let back = from_request(to_request(full()), 1);
        let wanted = SubmitProofRequest {
            request_id: String::new(),
            priority: 0,
            ..full()
        };
        assert_eq!(back, wanted);
        let read = SubmitProofRequest::decode(identity_bytes(full()).as_slice());
        assert_eq!(read, Ok(wanted));
    }

    #[test]
    fn identity_is_of_what_the_proof_is_about() {
        let same = SubmitProofRequest {
            request_id: "another".to_owned(),
            priority: 1,
            ..full()
        };
        assert_eq!(identity_bytes(same), identity_bytes(full()));
        let other = SubmitProofRequest {
            partition_index: 9,
            ..full()
        };
        assert_ne!(identity_bytes(other), identity_bytes(full()));
    }

    #[test]
    fn kinds_have_the_names_of_the_interface() {
        assert_eq!(kind_name(1), "POREP_SEAL_COMMIT");
        assert_eq!(kind_name(99), "99");
    }
}
