//! The engine on simulated devices.

mod basics;
mod cancel;
mod direct;
mod early;
mod faults;
mod founding;
mod resources;
mod support;
