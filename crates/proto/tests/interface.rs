//! The interface against the names and numbers that Curio's client was built with.

use std::collections::BTreeSet;

use cuzk_proto::DESCRIPTORS;
use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// Messages and their fields: type, name and number.
const MESSAGES: &str = "
SubmitProofRequest: string request_id 1, ProofKind proof_kind 2, uint64 sector_size 3, uint64 registered_proof 4,
  Priority priority 5, bytes vanilla_proof 10, bytes* vanilla_proofs 11, uint64 sector_number 20, uint64 miner_id 21,
  bytes randomness 22, uint32 partition_index 23, bytes comm_r_old 30, bytes comm_r_new 31, bytes comm_d_new 32
SubmitProofResponse: string job_id 1, uint32 queue_position 2, string assigned_gpu 3
AwaitProofRequest: string job_id 1, uint64 timeout_ms 2
AwaitProofResponse: string job_id 1, Status status 2, bytes proof 3, string error_message 4, uint64 queue_wait_ms 10,
  uint64 srs_load_ms 11, uint64 synthesis_ms 12, uint64 gpu_compute_ms 13, uint64 total_ms 14
ProveRequest: SubmitProofRequest submit 1
ProveResponse: AwaitProofResponse result 1
CancelProofRequest: string job_id 1
CancelProofResponse: bool was_running 1
GetStatusRequest:
GetStatusResponse: GPUStatus* gpus 1, SRSStatus* loaded_srs 2, QueueStatus* queues 3, uint64 total_proofs_completed 4,
  uint64 total_proofs_failed 5, uint64 uptime_seconds 6, uint64 pinned_memory_bytes 7, uint64 pinned_memory_limit_bytes 8
GPUStatus: uint32 ordinal 1, string name 2, uint64 vram_total_bytes 3, uint64 vram_free_bytes 4,
  string current_job_id 5, string current_proof_kind 6
SRSStatus: string circuit_id 1, Tier tier 2, uint64 size_bytes 3, uint32 ref_count 4
QueueStatus: string proof_kind 1, uint32 pending 2, uint32 in_progress 3
GetMetricsRequest:
GetMetricsResponse: string prometheus_text 1
PreloadSrsRequest: string circuit_id 1
PreloadSrsResponse: bool already_loaded 1, uint64 load_time_ms 2
EvictSrsRequest: string circuit_id 1
EvictSrsResponse: bool was_loaded 1, uint64 freed_bytes 2
";

const ENUMS: &str = "
ProofKind: PROOF_KIND_UNSPECIFIED 0, POREP_SEAL_COMMIT 1, SNAP_DEALS_UPDATE 2, WINDOW_POST_PARTITION 3, WINNING_POST 4
Priority: PRIORITY_UNSPECIFIED 0, LOW 1, NORMAL 2, HIGH 3, CRITICAL 4
Status: UNKNOWN 0, COMPLETED 1, FAILED 2, CANCELLED 3, TIMEOUT 4
Tier: HOT 0, WARM 1, COLD 2
";

const CALLS: &str = "
SubmitProof SubmitProofRequest SubmitProofResponse
AwaitProof AwaitProofRequest AwaitProofResponse
Prove ProveRequest ProveResponse
CancelProof CancelProofRequest CancelProofResponse
GetStatus GetStatusRequest GetStatusResponse
GetMetrics GetMetricsRequest GetMetricsResponse
PreloadSRS PreloadSrsRequest PreloadSrsResponse
EvictSRS EvictSrsRequest EvictSrsResponse
";

/// The paragraphs of a table with single spaces.
fn table(text: &str) -> BTreeSet<String> {
    let joined = text.replace("\n  ", " ");
    let lines = joined.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn message(found: &DescriptorProto) -> String {
    let fields: Vec<String> = found.field.iter().map(field).collect();
    format!("{}: {}", found.name(), fields.join(", "))
        .trim_end()
        .to_owned()
}

fn field(found: &FieldDescriptorProto) -> String {
    let kind = match found.r#type() {
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Bool => "bool",
        Type::Uint32 => "uint32",
        Type::Uint64 => "uint64",
        _ => found.type_name().rsplit('.').next().unwrap_or_default(),
    };
    let many = if found.label() == Label::Repeated {
        "*"
    } else {
        ""
    };
    format!("{kind}{many} {} {}", found.name(), found.number())
}

fn enumeration(found: &EnumDescriptorProto) -> String {
    let values = found.value.iter();
    let values: Vec<String> = values
        .map(|v| format!("{} {}", v.name(), v.number()))
        .collect();
    format!("{}: {}", found.name(), values.join(", "))
}

#[test]
fn names_and_numbers_are_those_of_the_client() {
    let set = FileDescriptorSet::decode(DESCRIPTORS).expect("the build wrote it");
    let file = &set.file[0];
    assert_eq!(
        (file.package(), file.syntax(), set.file.len()),
        ("cuzk.v1", "proto3", 1)
    );
    let messages: BTreeSet<String> = file.message_type.iter().map(message).collect();
    assert_eq!(messages, table(MESSAGES));
    let nested = file.message_type.iter().flat_map(|found| &found.enum_type);
    let enums: BTreeSet<String> = file
        .enum_type
        .iter()
        .chain(nested)
        .map(enumeration)
        .collect();
    assert_eq!(enums, table(ENUMS));

    assert_eq!(file.service.len(), 1);
    assert_eq!(file.service[0].name(), "ProvingEngine");
    let bare = |name: &str| name.trim_start_matches(".cuzk.v1.").to_owned();
    let call = |m: &prost_types::MethodDescriptorProto| {
        assert!(
            !m.client_streaming() && !m.server_streaming(),
            "{}",
            m.name()
        );
        format!(
            "{} {} {}",
            m.name(),
            bare(m.input_type()),
            bare(m.output_type())
        )
    };
    let calls: BTreeSet<String> = file.service[0].method.iter().map(call).collect();
    assert_eq!(calls, table(CALLS));
}
