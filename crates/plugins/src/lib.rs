//! Links the proof types into a binary.
