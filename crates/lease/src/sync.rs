//! The primitives that leases are made of. The model tests put loom's in their place.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
