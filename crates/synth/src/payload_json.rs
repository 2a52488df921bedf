//! The file form of a payload: a self-describing JSON object with bytes in base64.

use crate::payload::{Bytes32, Payload, Replica};
use crate::{Kind, SectorSize, SynthError, registered};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

/// The value of the field `format`, by which a payload file is known.
pub const FORMAT: &str = "cuzk-payload-1";

/// A payload as it stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PayloadFile {
    format: String,
    kind: Kind,
    sector_size: SectorSize,
    registered_proof: u64,
    sector_number: u64,
    miner_id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    randomness: Option<String>,
    #[serde(default)]
    partition_index: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comm_r_old: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comm_r_new: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comm_d_new: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comm_r: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comm_d: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replicas: Vec<ReplicaFile>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    vanilla_proof: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    vanilla_proofs: Vec<String>,
}

/// A replica as it stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplicaFile {
    sector_number: u64,
    comm_r: String,
}

impl Payload {
    /// The payload as the text of a payload file.
    pub fn to_json(&self) -> String {
        let is_post = matches!(self.kind, Kind::WindowPost | Kind::WinningPost);
        let replica = |replica: &Replica| ReplicaFile {
            sector_number: replica.sector_number,
            comm_r: BASE64.encode(replica.comm_r),
        };
        let file = PayloadFile {
            format: FORMAT.to_owned(),
            kind: self.kind,
            sector_size: self.sector_size,
            registered_proof: self.registered_proof,
            sector_number: self.sector_number,
            miner_id: self.miner_id,
            randomness: is_post.then(|| BASE64.encode(self.randomness)),
            partition_index: self.partition_index,
            comm_r_old: self.comm_r_old.map(|bytes| BASE64.encode(bytes)),
            comm_r_new: self.comm_r_new.map(|bytes| BASE64.encode(bytes)),
            comm_d_new: self.comm_d_new.map(|bytes| BASE64.encode(bytes)),
            comm_r: self.comm_r.map(|bytes| BASE64.encode(bytes)),
            comm_d: self.comm_d.map(|bytes| BASE64.encode(bytes)),
            ticket: self.ticket.map(|bytes| BASE64.encode(bytes)),
            seed: self.seed.map(|bytes| BASE64.encode(bytes)),
            replicas: self.replicas.iter().map(replica).collect(),
            vanilla_proof: BASE64.encode(&self.vanilla_proof),
            vanilla_proofs: self
                .vanilla_proofs
                .iter()
                .map(|proof| BASE64.encode(proof))
                .collect(),
        };
        // Strings, numbers and lists always have a JSON form.
        serde_json::to_string_pretty(&file).unwrap_or_default()
    }

    /// Reads the text of a payload file.
    ///
    /// The vanilla proofs are not looked into; that is the prover's business.
    ///
    /// # Errors
    /// JSON of another form, another format, a registered proof number of another kind or size, an absent
    /// field that the kind needs, bytes that are not base64 or not 32.
    pub fn from_json(text: &[u8]) -> Result<Self, SynthError> {
        let file: PayloadFile =
            serde_json::from_slice(text).map_err(|source| SynthError::Json {
                what: "the payload file",
                source,
            })?;
        if file.format != FORMAT {
            return Err(SynthError::Mismatch {
                field: "format",
                wanted: FORMAT.to_owned(),
                found: file.format,
            });
        }
        let payload = Payload {
            kind: file.kind,
            sector_size: file.sector_size,
            registered_proof: file.registered_proof,
            sector_number: file.sector_number,
            miner_id: file.miner_id,
            vanilla_proof: decode(&file.vanilla_proof, "vanilla_proof")?,
            vanilla_proofs: file
                .vanilla_proofs
                .iter()
                .map(|text| decode(text, "vanilla_proofs"))
                .collect::<Result<_, _>>()?,
            randomness: optional(file.randomness.as_deref(), "randomness")?.unwrap_or_default(),
            partition_index: file.partition_index,
            comm_r_old: optional(file.comm_r_old.as_deref(), "comm_r_old")?,
            comm_r_new: optional(file.comm_r_new.as_deref(), "comm_r_new")?,
            comm_d_new: optional(file.comm_d_new.as_deref(), "comm_d_new")?,
            comm_r: optional(file.comm_r.as_deref(), "comm_r")?,
            comm_d: optional(file.comm_d.as_deref(), "comm_d")?,
            ticket: optional(file.ticket.as_deref(), "ticket")?,
            seed: optional(file.seed.as_deref(), "seed")?,
            replicas: file
                .replicas
                .iter()
                .map(replica)
                .collect::<Result<_, _>>()?,
        };
        payload.check_fields(file.randomness.is_some())?;
        Ok(payload)
    }

    /// Checks that the payload holds what its kind needs.
    fn check_fields(&self, has_randomness: bool) -> Result<(), SynthError> {
        registered::check_number(self.kind, self.sector_size, self.registered_proof)?;
        let wanted: &[(&'static str, bool)] = match self.kind {
            Kind::PoRep => &[
                ("vanilla_proof", !self.vanilla_proof.is_empty()),
                ("comm_r", self.comm_r.is_some()),
                ("comm_d", self.comm_d.is_some()),
                ("ticket", self.ticket.is_some()),
                ("seed", self.seed.is_some()),
            ],
            Kind::WindowPost | Kind::WinningPost => &[
                ("vanilla_proofs", !self.vanilla_proofs.is_empty()),
                ("randomness", has_randomness),
                ("replicas", !self.replicas.is_empty()),
            ],
            Kind::Snap => &[
                ("vanilla_proofs", !self.vanilla_proofs.is_empty()),
                ("comm_r_old", self.comm_r_old.is_some()),
                ("comm_r_new", self.comm_r_new.is_some()),
                ("comm_d_new", self.comm_d_new.is_some()),
            ],
        };
        match wanted.iter().find(|(_, present)| !present) {
            Some(&(field, _)) => Err(SynthError::Missing {
                kind: self.kind,
                field,
            }),
            None => Ok(()),
        }
    }
}

fn replica(file: &ReplicaFile) -> Result<Replica, SynthError> {
    Ok(Replica {
        sector_number: file.sector_number,
        comm_r: bytes_32(&file.comm_r, "replicas.comm_r")?,
    })
}

fn optional(text: Option<&str>, field: &'static str) -> Result<Option<Bytes32>, SynthError> {
    text.map(|text| bytes_32(text, field)).transpose()
}

fn bytes_32(text: &str, field: &'static str) -> Result<Bytes32, SynthError> {
    let bytes = decode(text, field)?;
    let found = bytes.len();
    bytes.try_into().map_err(|_| SynthError::Length {
        field,
        wanted: 32,
        found,
    })
}

fn decode(text: &str, field: &'static str) -> Result<Vec<u8>, SynthError> {
    BASE64
        .decode(text)
        .map_err(|source| SynthError::Base64 { field, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snap() -> Payload {
        Payload {
            sector_number: 7,
            miner_id: 1000,
            vanilla_proofs: vec![vec![1, 2, 3], vec![], vec![0xff; 40]],
            comm_r_old: Some([1; 32]),
            comm_r_new: Some([2; 32]),
            comm_d_new: Some([3; 32]),
            ..Payload::empty(Kind::Snap, SectorSize::GIB_32, 3)
        }
    }

    fn window_post() -> Payload {
        Payload {
            vanilla_proofs: vec![vec![9; 5]],
            randomness: [8; 32],
            partition_index: 4,
            replicas: vec![Replica {
                sector_number: 1,
                comm_r: [5; 32],
            }],
            ..Payload::empty(Kind::WindowPost, SectorSize::KIB_2, 10)
        }
    }

    #[test]
    fn round_trip() -> Result<(), SynthError> {
        for payload in [snap(), window_post()] {
            assert_eq!(Payload::from_json(payload.to_json().as_bytes())?, payload);
        }
        Ok(())
    }

    /// The file of `payload` with the first `from` replaced by `to`, read back.
    fn changed(payload: &Payload, from: &str, to: &str) -> Result<Payload, SynthError> {
        let text = payload.to_json();
        assert!(text.contains(from), "{from} is not in {text}");
        Payload::from_json(text.replacen(from, to, 1).as_bytes())
    }

    #[test]
    fn each_wrong_field_has_its_error() {
        let comm = BASE64.encode([1; 32]);
        let wrong = |from: &str, to: &str| changed(&snap(), from, to);
        assert!(matches!(
            wrong("cuzk-payload-1", "cuzk-payload-2"),
            Err(SynthError::Mismatch {
                field: "format",
                ..
            })
        ));
        assert!(matches!(
            wrong("\"snap\"", "\"snaps\""),
            Err(SynthError::Json { .. })
        ));
        assert!(matches!(
            wrong("32GiB", "33GiB"),
            Err(SynthError::Json { .. })
        ));
        assert!(matches!(
            wrong("32GiB", "64GiB"),
            Err(SynthError::RegisteredProof { found: 3, .. })
        ));
        assert!(matches!(
            wrong("comm_r_old", "comm_old"),
            Err(SynthError::Json { .. })
        ));
        assert!(matches!(
            wrong(&comm, &comm[1..]),
            Err(SynthError::Base64 {
                field: "comm_r_old",
                ..
            })
        ));
        let short = BASE64.encode([1; 31]);
        assert!(matches!(
            wrong(&comm, &short),
            Err(SynthError::Length {
                field: "comm_r_old",
                found: 31,
                ..
            })
        ));
        assert!(matches!(
            wrong("AQID", "A*ID"),
            Err(SynthError::Base64 {
                field: "vanilla_proofs",
                ..
            })
        ));
        let text = snap().to_json();
        for end in [0, 1, text.len() / 2, text.len() - 1] {
            assert!(
                matches!(
                    Payload::from_json(&text.as_bytes()[..end]),
                    Err(SynthError::Json { .. })
                ),
                "{end}"
            );
        }
    }

    #[test]
    fn absent_fields_are_named() {
        let without = |change: fn(&mut Payload), mut payload: Payload| {
            change(&mut payload);
            match Payload::from_json(payload.to_json().as_bytes()) {
                Err(SynthError::Missing { field, .. }) => field,
                _ => "nothing",
            }
        };
        assert_eq!(
            without(|payload| payload.comm_d_new = None, snap()),
            "comm_d_new"
        );
        assert_eq!(
            without(|payload| payload.vanilla_proofs.clear(), snap()),
            "vanilla_proofs"
        );
        assert_eq!(
            without(|payload| payload.replicas.clear(), window_post()),
            "replicas"
        );
        let porep = Payload {
            vanilla_proof: vec![1],
            ..Payload::empty(Kind::PoRep, SectorSize::KIB_2, 5)
        };
        assert_eq!(without(|_| {}, porep), "comm_r");
    }
}
