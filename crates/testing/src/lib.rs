//! Test support: circuits made by strategies, toy circuits, and the oracles that they are held against.

pub mod circuits;
pub mod oracle;
