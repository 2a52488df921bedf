//! Links the proof types into a binary, one line a proof type and nothing else.
//!
//! A proof type registers itself before `main` runs, but only where its crate is linked, and the linker drops a crate
//! that is listed in Cargo.toml and named nowhere in the code. So each is named here, and a binary that wants them
//! says `use cuzk_plugins as _;`.

use cuzk_proof_porep as _;
use cuzk_proof_snap as _;
use cuzk_proof_window_post as _;
use cuzk_proof_winning_post as _;
