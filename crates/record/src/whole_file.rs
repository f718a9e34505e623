//! Files that are written whole or not at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::{fs, io};

/// Writes a file so that it never exists half-written. A regular file is replaced by a rename and keeps its mode and
/// owner; it is overwritten in place if a rename is not allowed. Symbolic links are followed. A device, a FIFO or any
/// other special file at `path` is written into and stays what it is.
///
/// May call `content` twice.
pub(crate) fn write_whole(
    path: &Path,
    mut content: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(old) if old.is_file() => old,
        Ok(_) => return write_into(path, &mut content),
        // A link to what is not there yet: the file it names is made.
        Err(_) if path.is_symlink() => return write_into(path, &mut content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return replace(path, None, &mut content),
        Err(error) => return Err(error),
    };
    // What may not be written may not be replaced either.
    OpenOptions::new().write(true).open(path)?;
    match replace(&fs::canonicalize(path)?, Some(&old), &mut content) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => write_into(path, &mut content),
        replaced => replaced,
    }
}

fn replace(
    path: &Path,
    old: Option<&Metadata>,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|file| {
        let mut buffered = BufWriter::new(&file);
        content(&mut buffered)?;
        buffered.flush()?;
        if let Some(old) = old {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
                fchown(&file, Some(old.uid()), Some(old.gid()))?;
            }
            // After the owner: a change of owner clears bits of the mode.
            file.set_permissions(old.permissions())?;
        }
        fs::rename(&part, path)
    });
    if written.is_err() {
        // What remains, if anything, is of no use, and the first error tells why.
        let _ = fs::remove_file(&part);
    }
    written
}

fn write_into(path: &Path, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(OpenOptions::new().write(true).create(true).truncate(true).open(path)?);
    content(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::write_whole;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::process::Command;
    use std::{fs, io, thread};

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("anabranch-whole-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_fifo_stays_a_fifo_and_its_reader_gets_all() {
        let folder = folder("fifo");
        let fifo = folder.join("out.pcapng");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let reader = thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).unwrap()
        });
        write_whole(&fifo, |out| out.write_all(b"all of it")).unwrap();
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), b"all of it");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn links_are_followed_and_the_mode_stays() {
        let folder = folder("link");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old and longer").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write_whole(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_fails_leaves_what_was_there() {
        let folder = folder("fails");
        let file = folder.join("file");
        fs::write(&file, "old").unwrap();
        let failed =
            write_whole(&file, |out| out.write_all(b"half").and(Err(io::ErrorKind::StorageFull.into())));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
