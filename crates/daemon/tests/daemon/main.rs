//! The daemon over simulated proof types and a simulated prover, as its clients see it.

mod calls;
mod endings;
mod harm;
mod http;
mod sockets;
mod support;
