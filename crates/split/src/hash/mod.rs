//! Packet hashes: from a 5-tuple to the key that schemes pick by. One file per function, bit-exact.
