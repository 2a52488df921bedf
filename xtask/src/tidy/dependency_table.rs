//! The dependency table: which crate may know which.

/// What a crate may depend on, and what must not be anywhere below it.
pub struct Row {
    /// The package; like all names here, a final `*` stands for any ending. The first row that fits counts.
    pub package: &'static str,
    /// The workspace's packages that it may depend on. Development dependencies are free but for what `never` says.
    pub may_use: &'static [&'static str],
    /// Groups of other people's packages that must not be in its closure, however indirectly. Where [`FILECOIN`] is one,
    /// its tests do not build Filecoin's crates either.
    pub never: &'static [&'static Group],
}

/// Other people's packages that are kept out together.
pub struct Group {
    /// What they have in common.
    pub name: &'static str,
    /// Their names.
    pub packages: &'static [&'static str],
}

/// Asynchronous run times.
const TOKIO: Group = Group {
    name: "an asynchronous run time",
    packages: &["tokio", "async-std", "smol"],
};

/// Whatever binds to a GPU's driver.
const CUDA: Group = Group {
    name: "CUDA or OpenCL",
    packages: &[
        "cudarc",
        "cust*",
        "rustacuda*",
        "rust-gpu-tools",
        "opencl*",
        "cl3",
        "sppark",
        "supraseal*",
    ],
};

/// Filecoin's circuits and what they are made of.
pub const FILECOIN: Group = Group {
    name: "Filecoin",
    packages: &[
        "filecoin-*",
        "storage-proofs-*",
        "fil_*",
        "fr32",
        "neptune",
        "merkletree",
        "sha2raw",
    ],
};

/// The prover that this one is compared with.
const BELLPERSON: Group = Group {
    name: "bellperson",
    packages: &["bellperson", "ec-gpu*"],
};

/// A library crate that anyone can use for a circuit of their own.
const LIBRARY: &[&Group] = &[&TOKIO, &CUDA, &FILECOIN, &BELLPERSON];
/// A crate that works on a GPU.
const DEVICE: &[&Group] = &[&TOKIO, &FILECOIN, &BELLPERSON];
/// A crate that answers calls, on an asynchronous run time.
const SERVER: &[&Group] = &[&CUDA, &FILECOIN, &BELLPERSON];
/// A crate that knows Filecoin's circuits.
const PROOF: &[&Group] = &[&TOKIO, &CUDA];

/// Packages of which the closure of the workspace holds one version at most: with two, `Circuit`, `Fr` or a curve's
/// code would exist twice.
pub const SINGLE: &[&str] = &[
    "bellperson",
    "bellpepper-core",
    "blstrs",
    "blst",
    "ff",
    "group",
    "pairing",
];

/// A row for each package of the workspace, lower layers first.
pub const TABLE: &[Row] = &[
    row("cuzk-curve", &[], LIBRARY),
    row("cuzk-kernels", &[], LIBRARY),
    row("cuzk-lease", &[], LIBRARY),
    row("cuzk-r1cs", &["cuzk-curve"], LIBRARY),
    row("cuzk-backend", &["cuzk-curve", "cuzk-r1cs"], LIBRARY),
    row("cuzk-gpu", &["cuzk-lease"], DEVICE),
    row("cuzk-cs-recording", &["cuzk-curve", "cuzk-r1cs"], LIBRARY),
    row("cuzk-cs-witness", &["cuzk-curve", "cuzk-r1cs"], LIBRARY),
    row("cuzk-gadgets", &["cuzk-curve", "cuzk-r1cs"], LIBRARY),
    row(
        "cuzk-pce",
        &["cuzk-curve", "cuzk-r1cs", "cuzk-cs-recording"],
        LIBRARY,
    ),
    row("cuzk-params", &["cuzk-curve"], LIBRARY),
    row(
        "cuzk-backend-cpu",
        &["cuzk-curve", "cuzk-r1cs", "cuzk-backend"],
        LIBRARY,
    ),
    row(
        "cuzk-backend-cuda",
        &[
            "cuzk-curve",
            "cuzk-kernels",
            "cuzk-lease",
            "cuzk-r1cs",
            "cuzk-backend",
            "cuzk-gpu",
        ],
        DEVICE,
    ),
    row(
        "cuzk-groth16",
        &[
            "cuzk-curve",
            "cuzk-r1cs",
            "cuzk-backend",
            "cuzk-cs-witness",
            "cuzk-params",
            "cuzk-pce",
        ],
        LIBRARY,
    ),
    row(
        "cuzk-proof-api",
        &[
            "cuzk-curve",
            "cuzk-r1cs",
            "cuzk-cs-recording",
            "cuzk-cs-witness",
        ],
        LIBRARY,
    ),
    row("cuzk-scheduler", &[], LIBRARY),
    row(
        "cuzk-engine",
        &[
            "cuzk-curve",
            "cuzk-r1cs",
            "cuzk-backend",
            "cuzk-cs-recording",
            "cuzk-pce",
            "cuzk-params",
            "cuzk-groth16",
            "cuzk-proof-api",
            "cuzk-scheduler",
            "cuzk-lease",
        ],
        LIBRARY,
    ),
    row(
        "cuzk-filecoin",
        &["cuzk-curve", "cuzk-r1cs", "cuzk-gadgets", "cuzk-proof-api"],
        PROOF,
    ),
    row("cuzk-proof-*", PROOF_USES, PROOF),
    row("cuzk-plugins", &["cuzk-proof-*"], PROOF),
    row("cuzk-synth", &["cuzk-proof-api"], PROOF),
    row(
        "cuzk-simulated",
        &[
            "cuzk-curve",
            "cuzk-r1cs",
            "cuzk-backend",
            "cuzk-backend-cpu",
        ],
        LIBRARY,
    ),
    row(
        "cuzk-testing",
        &[
            "cuzk-curve",
            "cuzk-r1cs",
            "cuzk-backend",
            "cuzk-backend-cpu",
            "cuzk-simulated",
            "cuzk-cs-recording",
            "cuzk-cs-witness",
        ],
        &[&TOKIO, &CUDA, &FILECOIN],
    ),
    row("cuzk-queue", &[], LIBRARY),
    row("cuzk-proto", &["cuzk-proof-api"], SERVER),
    row(
        "cuzk-daemon",
        &[
            "cuzk-backend",
            "cuzk-engine",
            "cuzk-proof-api",
            "cuzk-proto",
            "cuzk-queue",
        ],
        SERVER,
    ),
    row("cuzk-cli", CLI_USES, &[]),
    row("cuzk-bench", BENCH_USES, PROOF),
    row("cuzk-fuzz", PROGRAM_USES, PROOF),
    row("xtask", &[], LIBRARY),
];

/// What a proof type may use: never another one.
const PROOF_USES: &[&str] = &[
    "cuzk-curve",
    "cuzk-r1cs",
    "cuzk-gadgets",
    "cuzk-proof-api",
    "cuzk-filecoin",
];

/// What a program may use: it chooses the backend and links the proof types.
const PROGRAM_USES: &[&str] = &[
    "cuzk-curve",
    "cuzk-r1cs",
    "cuzk-cs-recording",
    "cuzk-cs-witness",
    "cuzk-backend",
    "cuzk-backend-cpu",
    "cuzk-pce",
    "cuzk-params",
    "cuzk-groth16",
    "cuzk-proof-api",
    "cuzk-plugins",
    "cuzk-synth",
    "cuzk-testing",
];

/// What the command may use: a program's crates, the CUDA backend, which needs no CUDA to be built, the daemon, and PoRep's
/// circuits for a benchmark of sizes that no registered proof has.
const CLI_USES: &[&str] = &[
    "cuzk-curve",
    "cuzk-r1cs",
    "cuzk-cs-recording",
    "cuzk-cs-witness",
    "cuzk-backend",
    "cuzk-backend-cpu",
    "cuzk-backend-cuda",
    "cuzk-pce",
    "cuzk-params",
    "cuzk-groth16",
    "cuzk-proof-api",
    "cuzk-plugins",
    "cuzk-proof-porep",
    "cuzk-simulated",
    "cuzk-synth",
    "cuzk-testing",
    "cuzk-engine",
    "cuzk-queue",
    "cuzk-proto",
    "cuzk-daemon",
];

/// What the benchmarks may use: the types of the circuits besides, since a peer takes a circuit and no name.
const BENCH_USES: &[&str] = &[
    "cuzk-curve",
    "cuzk-r1cs",
    "cuzk-cs-recording",
    "cuzk-cs-witness",
    "cuzk-backend",
    "cuzk-backend-cpu",
    "cuzk-pce",
    "cuzk-params",
    "cuzk-groth16",
    "cuzk-proof-api",
    "cuzk-filecoin",
    "cuzk-proof-*",
    "cuzk-plugins",
    "cuzk-synth",
    "cuzk-testing",
];

const fn row(
    package: &'static str,
    may_use: &'static [&'static str],
    never: &'static [&'static Group],
) -> Row {
    Row {
        package,
        may_use,
        never,
    }
}

impl Group {
    /// Whether a package belongs to the group.
    pub fn holds(&self, package: &str) -> bool {
        self.packages.iter().any(|name| fits(name, package))
    }
}

/// Whether a package is meant by a name of the table.
pub fn fits(name: &str, package: &str) -> bool {
    match name.strip_suffix('*') {
        Some(start) => package.starts_with(start),
        None => name == package,
    }
}
