//! `cuzk status` and `cuzk top`.

use std::io::Write;
use std::time::Duration;

use cuzk_daemon::config::Bytes;
use cuzk_proto::v1::srs_status::Tier;
use cuzk_proto::v1::{GetStatusRequest, GetStatusResponse};
use serde_json::json;

use crate::commands::submit::{call, daemon};
use crate::console::Console;
use crate::daemon_args::{Status, Top};
use crate::failure::{USAGE, failure};
use crate::table::table;

/// Clears a terminal and goes to its first line.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Shows a daemon's state.
pub fn run(args: &Status, console: &Console) -> anyhow::Result<()> {
    let found = call(async {
        let mut client = daemon(&args.target).await?;
        Ok(client.get_status(GetStatusRequest {}).await?.into_inner())
    })?;
    console.result(&as_json(&found), &text(&found))
}

/// Shows it again and again, until interrupted.
pub fn top(args: &Top) -> anyhow::Result<()> {
    let pause = Duration::try_from_secs_f64(args.every).unwrap_or_default();
    if pause < SHORTEST_PAUSE {
        let message = format!("--every: wanted 0.1 s or more, found {} s", args.every);
        return Err(failure(USAGE, message));
    }
    call(async {
        let mut client = daemon(&args.target).await?;
        loop {
            let found = client.get_status(GetStatusRequest {}).await?.into_inner();
            let mut out = std::io::stdout().lock();
            writeln!(
                out,
                "{CLEAR}cuzk at {}\n\n{}",
                args.target.daemon,
                text(&found)
            )?;
            out.flush()?;
            drop(out);
            tokio::time::sleep(pause).await;
        }
    })
}

fn text(found: &GetStatusResponse) -> String {
    let gpus = found.gpus.iter().map(|gpu| {
        let job = match gpu.current_job_id.get(..8) {
            Some(job) => format!("{job} {}", gpu.current_proof_kind),
            None => "idle".to_owned(),
        };
        vec![
            gpu.ordinal.to_string(),
            gpu.name.clone(),
            Bytes(gpu.vram_free_bytes).to_string(),
            Bytes(gpu.vram_total_bytes).to_string(),
            job,
        ]
    });
    let keys = found.loaded_srs.iter().map(|key| {
        let tier = format!("{:?}", key.tier()).to_lowercase();
        let size = Bytes(key.size_bytes).to_string();
        vec![
            key.circuit_id.clone(),
            tier,
            size,
            key.ref_count.to_string(),
        ]
    });
    let queues = found.queues.iter().map(|queue| {
        vec![
            queue.proof_kind.clone(),
            queue.pending.to_string(),
            queue.in_progress.to_string(),
        ]
    });
    let all = |rows: &mut dyn Iterator<Item = Vec<String>>| rows.collect::<Vec<_>>();
    let mut parts = vec![
        format!(
            "up {} s, {} completed, {} failed, host memory {} of {}",
            found.uptime_seconds,
            found.total_proofs_completed,
            found.total_proofs_failed,
            Bytes(found.pinned_memory_bytes),
            Bytes(found.pinned_memory_limit_bytes),
        ),
        table(
            &["device", "name", "free", "memory", "works on"],
            &all(&mut { gpus }),
        ),
        table(&["queue", "waiting", "running"], &all(&mut { queues })),
    ];
    if !found.loaded_srs.is_empty() {
        parts.push(table(
            &["key", "tier", "size", "users"],
            &all(&mut { keys }),
        ));
    }
    parts.join("\n\n")
}

fn as_json(found: &GetStatusResponse) -> serde_json::Value {
    let tier = |tier: Tier| tier.as_str_name();
    json!({
        "gpus": found.gpus.iter().map(|gpu| json!({
            "ordinal": gpu.ordinal,
            "name": gpu.name,
            "vram_total_bytes": gpu.vram_total_bytes,
            "vram_free_bytes": gpu.vram_free_bytes,
            "current_job_id": gpu.current_job_id,
            "current_proof_kind": gpu.current_proof_kind,
        })).collect::<Vec<_>>(),
        "loaded_srs": found.loaded_srs.iter().map(|key| json!({
            "circuit_id": key.circuit_id,
            "tier": tier(key.tier()),
            "size_bytes": key.size_bytes,
            "ref_count": key.ref_count,
        })).collect::<Vec<_>>(),
        "queues": found.queues.iter().map(|queue| json!({
            "proof_kind": queue.proof_kind,
            "pending": queue.pending,
            "in_progress": queue.in_progress,
        })).collect::<Vec<_>>(),
        "total_proofs_completed": found.total_proofs_completed,
        "total_proofs_failed": found.total_proofs_failed,
        "uptime_seconds": found.uptime_seconds,
        "pinned_memory_bytes": found.pinned_memory_bytes,
        "pinned_memory_limit_bytes": found.pinned_memory_limit_bytes,
    })
}
