//! The Filecoin proof type PoRep as a plugin.
