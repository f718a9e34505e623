//! From weights to the plain data that picks read: one file per rule.
