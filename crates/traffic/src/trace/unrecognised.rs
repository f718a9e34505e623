//! Explanations of input that is no capture.

use super::TraceError;
use super::window::Window;

/// Number of bytes that are examined and shown.
const HEAD_BYTES: usize = 8;

/// Makes the error for the bytes at the start of the input.
#[cold]
pub(super) fn error(window: &mut Window) -> TraceError {
    let ahead = window.ahead(HEAD_BYTES);
    let head = ahead[..ahead.len().min(HEAD_BYTES)].to_vec();
    if head.len() < HEAD_BYTES && window.has_failed() {
        return window.cut(0, "file header");
    }
    let (found, hint) = look_at(&head);
    TraceError::NotACapture { file: window.file(), found, hint }
}

/// Says what a file that begins with `head` is, and how to make a capture of it.
fn look_at(head: &[u8]) -> (String, &'static str) {
    let hex = head.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let (kind, hint) = match head {
        [] => return ("it is empty".to_owned(), ""),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => ("xz data", ": unpack it with `xz -d`"),
        [b'B', b'Z', b'h', ..] => ("bzip2 data", ": unpack it with `bzip2 -d`"),
        [0x04, 0x22, 0x4d, 0x18, ..] => ("lz4 data", ": unpack it with `lz4 -d`"),
        [b'P', b'K', 3, 4, ..] => ("a zip archive", ": unpack it"),
        [b's', b'n', b'o', b'o', b'p', ..] => ("a snoop capture", ": convert it with `editcap -F pcap`"),
        [0x34, 0xcd, 0xb2, 0xa1, ..] | [0xa1, 0xb2, 0xcd, 0x34, ..] => {
            ("modified pcap", ": convert it with `editcap -F pcap`")
        }
        _ if head.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n')) => {
            let text = String::from_utf8_lossy(head).escape_default().to_string();
            return (format!("it begins with the text \"{text}\""), "");
        }
        _ => return (format!("it begins with the bytes {hex}"), ""),
    };
    (format!("it begins with the bytes {hex}, as {kind} does"), hint)
}
