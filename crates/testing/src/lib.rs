//! Test support: circuits made by strategies, toy circuits, the oracles that they are held against, and simulated
//! devices.

pub mod circuits;
pub mod oracle;

pub use cuzk_simulated as simulated;
