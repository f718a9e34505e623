//! Identity of a run: two runs of the same identity are the same run.

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Version of the model: raised whenever the same scenario gives other results. `CHANGELOG.md` says what changed.
pub const MODEL_VERSION: u32 = 5;

/// 32 hexadecimal digits of XXH3-128 over the canonical text and the model's version.
pub(crate) fn identity(canonical: &str) -> String {
    let mut hash = Xxh3::new();
    hash.update(&MODEL_VERSION.to_le_bytes());
    hash.update(canonical.as_bytes());
    format!("{:032x}", hash.digest128())
}

/// 32 hexadecimal digits of XXH3-128 over the content of a file.
pub(crate) fn digest(content: &[u8]) -> String {
    format!("{:032x}", xxh3_128(content))
}
