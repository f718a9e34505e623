//! File of the records of flows: where they wait for the end of a run that memory could not hold.

use anabranch_sim::{FlowRecord, FlowSink};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers of a record have eight bytes each in the file.
const RECORD_BYTES: usize = FlowRecord::WORDS * 8;

/// Tells the files of one process apart.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Records of flows in a file without a name, each at the place of its number. The file is gone when nobody has it open,
/// whatever becomes of the process.
#[derive(Debug)]
pub struct RecordFile(File);

impl RecordFile {
    /// An empty file in `folder`, for instance [`std::env::temp_dir`].
    ///
    /// # Errors
    /// A folder in which no file can be made.
    pub fn create_in(folder: &Path) -> io::Result<Self> {
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("anabranch-{}-{number}.records", std::process::id()));
            let mut options = OpenOptions::new();
            match options.read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return fs::remove_file(&path).map(|()| Self(file)),
                // A process of the same number left it behind.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The records of `count` flows from number `first` on.
    ///
    /// # Errors
    /// A failing disk, and records that were never written.
    pub fn read(&self, first: u64, count: usize) -> io::Result<Vec<FlowRecord>> {
        let mut bytes = vec![0; count * RECORD_BYTES];
        self.0.read_exact_at(&mut bytes, first * RECORD_BYTES as u64)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        Ok(numbers.as_chunks().0.iter().map(|words| FlowRecord::of_words(*words)).collect())
    }
}

impl FlowSink for RecordFile {
    fn write(&self, first: u32, records: &[FlowRecord]) -> io::Result<()> {
        let bytes: Vec<u8> = records.iter().flat_map(FlowRecord::words).flat_map(u64::to_le_bytes).collect();
        self.0.write_all_at(&bytes, u64::from(first) * RECORD_BYTES as u64)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;

    /// A record whose numbers all differ.
    fn distinct(first: u64) -> FlowRecord {
        FlowRecord::of_words(std::array::from_fn(|word| first + word as u64))
    }

    #[test]
    fn records_stand_at_their_numbers_and_the_last_that_is_written_counts() {
        let folder = std::env::temp_dir().join(format!("anabranch-records-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = RecordFile::create_in(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the file has no name");
        let large = FlowRecord { fct_ps: u64::MAX, paths: u16::MAX, ..distinct(1 << 60) };
        file.write(1, &[distinct(100), distinct(200)]).unwrap();
        file.write(0, &[large]).unwrap();
        file.write(2, &[distinct(300)]).unwrap();
        assert_eq!(file.read(0, 3).unwrap(), [large, distinct(100), distinct(300)]);
        assert_eq!(file.read(2, 1).unwrap(), [distinct(300)]);
        assert!(file.read(2, 2).is_err(), "one was never written");
        fs::remove_dir(&folder).unwrap();
        assert!(RecordFile::create_in(&folder).is_err(), "the folder is gone");
    }
}
