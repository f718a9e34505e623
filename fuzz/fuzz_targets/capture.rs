//! Arbitrary bytes as a capture: no panic, no endless loop, and every packet counted once.
#![no_main]

use anabranch_traffic::trace::{Encapsulation, TraceReader};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

/// Largest number of batches that are read: a few kilobytes of zstd or gzip unpack to gigabytes, which would show
/// nothing more.
const BATCHES_MAX: usize = 256;

fuzz_target!(|data: &[u8]| {
    for encapsulation in [Encapsulation::Outer, Encapsulation::Inner] {
        let input = Box::new(Cursor::new(data.to_vec()));
        let Ok(mut reader) = TraceReader::new("fuzz".to_owned(), input, None, encapsulation) else {
            continue;
        };
        let (mut records, mut returned) = (Vec::new(), 0);
        for _ in 0..BATCHES_MAX {
            match reader.next_batch(&mut records, 64) {
                Ok(true) => returned += records.len() as u64,
                Ok(false) => break,
                Err(error) => {
                    assert!(records.is_empty() && !error.to_string().is_empty());
                    assert!(matches!(reader.next_batch(&mut records, 64), Ok(false)), "an error is the end");
                    break;
                }
            }
        }
        let counts = reader.counts();
        assert_eq!(counts.ip_packets, returned);
        assert_eq!(
            counts.packets,
            counts.ip_packets + counts.non_ip + counts.truncated_headers + counts.malformed
        );
        assert!(counts.fragments_without_first <= counts.fragments && counts.fragments <= returned);
    }
});
