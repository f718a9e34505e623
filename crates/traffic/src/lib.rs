//! Traffic: where packets and connections come from.
