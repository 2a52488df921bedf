//! What every proof type must do, asked through the registry with real 2 KiB sectors and synthetic larger ones.

mod circuits;
mod direct;
mod direct_post;
mod mutations;
mod oracle;
mod refusals;
mod registry;
mod support;
mod vectors;
