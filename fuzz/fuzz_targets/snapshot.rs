//! Arbitrary bytes as a group's snapshot or delta, with the digest and checksum that they should have: no panic, errors with
//! a hint, and a group that works and is what its own snapshot says.
#![no_main]

use anabranch_split::{Group, Members, Parameters, Weights};
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Bytes before a snapshot's body, and of the checksum at the end.
const HEAD: usize = 34;
const TAIL: usize = 8;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if let Some(end) = bytes.len().checked_sub(TAIL).filter(|&end| end >= HEAD) {
        if bytes.starts_with(b"ABGROUP\0") {
            let digest = xxh3_128(&bytes[HEAD..end]).to_le_bytes();
            bytes[HEAD - 16..HEAD].copy_from_slice(&digest);
        }
        let checksum = xxh3_64(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&checksum);
    }
    match Group::restore(&bytes) {
        Err(error) => assert!(!error.problem.is_empty() && !error.hint.is_empty()),
        Ok(group) => {
            assert_eq!(group.snapshot().expect("a restored group has one"), bytes);
            let members = group.members();
            assert!(usize::from(group.pick(0x9e37_79b9_7f4a_7c15)) < members.len());
            // An error is a limit of the technique.
            let _ = group.update(&Members::all_up(members.weights().clone()));
        }
    }
    let members = Members::all_up(Weights::new(vec![4, 3, 2]).expect("weights"));
    let parameters = Parameters::new([("buckets", "64")]);
    let group = Group::new("linux-resilient", &members, &parameters).expect("a group");
    if let Err(error) = group.adopt(&bytes) {
        assert!(!error.problem.is_empty() && !error.hint.is_empty());
        assert_eq!(group.members(), members, "a refused delta changes nothing");
    }
});
