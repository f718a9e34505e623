//! The folder of a datapath on the BPF file system: locked, made and removed whole.

use crate::error::KernelError;
use crate::link;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::string::ToString as _;

/// Suffix of a datapath's folder while it is created and while it is removed: under its own name a datapath is whole.
/// The next operation removes what a crash has left.
const HALF: &str = "+half";

/// Creates a folder unless it exists, and locks it.
pub(crate) fn create_locked(folder: &Path) -> Result<File, KernelError> {
    loop {
        fs::create_dir_all(folder).map_err(KernelError::of_call(folder.display().to_string()))?;
        match lock(folder) {
            // Who removed the last datapath may have removed the folder while we waited.
            Ok(file) if is_at(&file, folder) => return Ok(file),
            Err(error) if folder.exists() => return Err(error),
            _ => {}
        }
    }
}

fn is_at(file: &File, folder: &Path) -> bool {
    let number = |metadata: fs::Metadata| metadata.ino();
    file.metadata().map(number).ok() == fs::metadata(folder).map(number).ok()
}

/// Locks a folder: no other process changes its datapaths while the file lives.
pub(crate) fn lock(folder: &Path) -> Result<File, KernelError> {
    let what = || folder.display().to_string();
    let file = File::open(folder).map_err(KernelError::of_call(what()))?;
    file.lock().map_err(KernelError::of_call(what()))?;
    Ok(file)
}

/// Removes a folder of pins: first links, that no packet meets a half datapath.
pub(crate) fn clear(folder: &Path) -> Result<(), KernelError> {
    let what = || folder.display().to_string();
    link::take_off(folder)?;
    for entry in fs::read_dir(folder).map_err(KernelError::of_call(what()))? {
        let entry = entry.map_err(KernelError::of_call(what()))?;
        fs::remove_file(entry.path()).map_err(KernelError::of_call(what()))?;
    }
    fs::remove_dir(folder).map_err(KernelError::of_call(what()))
}

/// Folder in which a datapath is created and taken apart; empties it of what a crash has left.
pub(crate) fn half_of(folder: &Path) -> Result<PathBuf, KernelError> {
    let mut half = folder.as_os_str().to_os_string();
    half.push(HALF);
    let half = PathBuf::from(half);
    if half.exists() {
        clear(&half)?;
    }
    Ok(half)
}

/// Inode of a folder: another one of its name has another. `None` if there is none.
pub(crate) fn inode(folder: &Path) -> Result<Option<u64>, KernelError> {
    match fs::metadata(folder) {
        Ok(found) => Ok(Some(found.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // Without the privilege to look, "not there" would be wrong.
        Err(error) => Err(KernelError::of_call(folder.display().to_string())(error)),
    }
}
