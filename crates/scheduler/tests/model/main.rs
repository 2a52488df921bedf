//! The scheduler against a model of its caller, in random sequences and in the situations that its policies are for.

mod answers;
mod caller;
mod devices;
mod early;
mod order;
mod policies;
mod random;
