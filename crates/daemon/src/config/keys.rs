//! The keys of the configuration file, and what to say about others.

/// What is done with a key.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// It configures something.
    Read,
    /// The earlier daemon took it; here it has nothing to configure.
    NoEffect,
}

/// The sections and their keys.
pub const SECTIONS: &[(&str, &[(&str, Use)])] = &[
    (
        "daemon",
        &[
            ("listen", Use::Read),
            ("status_listen", Use::Read),
            ("token_file", Use::Read),
            ("tls_cert", Use::Read),
            ("tls_key", Use::Read),
            ("tls_client_ca", Use::Read),
            ("max_connections", Use::Read),
            ("max_request_bytes", Use::Read),
            ("drain_seconds", Use::Read),
        ],
    ),
    (
        "queue",
        &[
            ("store", Use::Read),
            ("max_jobs", Use::Read),
            ("max_payload_bytes", Use::Read),
            ("keep_finished_hours", Use::Read),
            ("max_finished", Use::Read),
            ("in_flight", Use::Read),
        ],
    ),
    ("srs", &[("param_cache", Use::Read)]),
    (
        "memory",
        &[
            ("total_budget", Use::Read),
            ("safety_margin", Use::Read),
            ("eviction_min_idle", Use::NoEffect),
        ],
    ),
    (
        "gpus",
        &[
            ("devices", Use::Read),
            ("gpu_threads", Use::NoEffect),
            ("gpu_workers_per_device", Use::Read),
        ],
    ),
    (
        "scheduler",
        &[
            ("max_batch_size", Use::NoEffect),
            ("max_batch_wait_ms", Use::NoEffect),
            ("sort_by_type", Use::NoEffect),
        ],
    ),
    ("synthesis", &[("threads", Use::Read)]),
    (
        "pipeline",
        &[
            ("enabled", Use::NoEffect),
            ("synthesis_lookahead", Use::NoEffect),
            ("synthesis_concurrency", Use::Read),
        ],
    ),
    ("logging", &[("level", Use::Read), ("format", Use::Read)]),
];

/// Keys that the earlier daemon had given up already; they are taken in any section.
pub const DEPRECATED: &[(&str, &str)] = &[
    (
        "preload",
        "keys are loaded when they are first needed, or by PreloadSRS",
    ),
    ("pinned_budget", "set memory.total_budget"),
    ("working_memory_budget", "set memory.total_budget"),
    (
        "partition_workers",
        "partitions are spread over all devices",
    ),
];

/// The known word that is most like another one, if any is.
pub fn most_like<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    let rated = known.map(|candidate| (strsim::jaro_winkler(word, candidate), candidate));
    let best = rated.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 > 0.8).then_some(best.1)
}
