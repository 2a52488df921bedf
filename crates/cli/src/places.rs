//! Where keys and compiled circuits lie.

use std::path::PathBuf;

use anyhow::Context;
use cuzk_params::KeyStore;
use cuzk_pce::Cache;

use crate::args::{ParamsFolder, PceFolder};

/// The folder of keys: given, else Filecoin's own variable, else the user's cache folder.
pub fn key_store(folder: &ParamsFolder) -> anyhow::Result<KeyStore> {
    let given = folder.params.clone();
    Ok(KeyStore::new(place(
        given,
        "FIL_PROOFS_PARAMETER_CACHE",
        "params",
    )?))
}

/// The folder of compiled circuits.
pub fn cache(folder: &PceFolder) -> anyhow::Result<Cache> {
    Ok(Cache::new(place(
        folder.pce.clone(),
        "CUZK_PCE_CACHE",
        "pce",
    )?))
}

fn place(given: Option<PathBuf>, variable: &str, name: &str) -> anyhow::Result<PathBuf> {
    if let Some(folder) = given {
        return Ok(folder);
    }
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    if let Some(folder) = set(variable) {
        return Ok(folder.into());
    }
    let cache = match set("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let home =
                set("HOME").context("neither HOME nor XDG_CACHE_HOME is set; name the folder")?;
            PathBuf::from(home).join(".cache")
        }
    };
    Ok(cache.join("cuzk").join(name))
}
