//! Text of every error: file, byte, what is wrong, and the hint.

use super::bytes::*;
use anabranch_split::protocol::UDP;
use anabranch_traffic::trace::{Encapsulation, TraceError, TraceReader};
use anabranch_traffic::{Source, SourceError};
use std::io::{self, Read};
use std::path::Path;

fn frame() -> Vec<u8> {
    ethernet(0x0800, &ipv4(UDP, &udp(1, 53, b"")))
}

/// Number of records before the error, and the error that a file ends in.
fn ends_in(bytes: &[u8]) -> (usize, String) {
    match open(bytes, Encapsulation::Outer) {
        Err(error) => (0, error.to_string()),
        Ok(reader) => {
            let outcome = drain(reader);
            (outcome.records.len(), outcome.error.expect("an error").to_string())
        }
    }
}

fn refused(bytes: &[u8], text: &str) {
    assert_eq!(ends_in(bytes), (0, text.to_owned()));
}

fn pcapng(build: impl FnOnce(&mut Pcapng)) -> Vec<u8> {
    let mut file = Pcapng::new(Order::Little);
    build(file.interface(1, 0, &[]).enhanced(0, 0, 42, &frame()));
    file.file
}

#[test]
fn no_capture() {
    let read = "pcap and pcapng are read, plain or compressed with gzip or zstd";
    for (bytes, found, hint) in [
        (&b""[..], "it is empty", ""),
        (b"src,dst", "it begins with the text \"src,dst\"", ""),
        (b"src,\ndst", "it begins with the text \"src,\\ndst\"", ""),
        (b"\xd4\xc3\xb2", "it begins with the bytes d4 c3 b2", ""),
        (b"\x7fELF\x02\x01\x01\x00\x00", "it begins with the bytes 7f 45 4c 46 02 01 01 00", ""),
        (
            b"\xfd7zXZ\x00\x00\x04",
            "it begins with the bytes fd 37 7a 58 5a 00 00 04, as xz data does",
            ": unpack it with `xz -d`",
        ),
        (
            b"BZh91AY&",
            "it begins with the bytes 42 5a 68 39 31 41 59 26, as bzip2 data does",
            ": unpack it with `bzip2 -d`",
        ),
        (
            b"\x04\x22\x4d\x18",
            "it begins with the bytes 04 22 4d 18, as lz4 data does",
            ": unpack it with `lz4 -d`",
        ),
        (b"PK\x03\x04", "it begins with the bytes 50 4b 03 04, as a zip archive does", ": unpack it"),
        (
            b"snoop\0\0\0",
            "it begins with the bytes 73 6e 6f 6f 70 00 00 00, as a snoop capture does",
            ": convert it with `editcap -F pcap`",
        ),
        (
            b"\x34\xcd\xb2\xa1",
            "it begins with the bytes 34 cd b2 a1, as modified pcap does",
            ": convert it with `editcap -F pcap`",
        ),
    ] {
        let text = format!("t.pcap: not a capture: {found}; {read}{hint}");
        refused(bytes, &text);
        refused(&zstd(bytes), &text);
        refused(&gzip(bytes), &text);
    }
}

#[test]
fn what_cannot_be_opened_or_read() {
    let error =
        |path: &str| TraceReader::open(Path::new(path), Encapsulation::Outer).err().unwrap().to_string();
    assert_eq!(
        error("no/such.pcap"),
        "no/such.pcap: cannot be opened: No such file or directory (os error 2); give the path of a capture, or - for \
         standard input"
    );
    assert_eq!(
        error("src"),
        "src: cannot be read at byte 0: Is a directory (os error 21); fix that and start again"
    );
}

/// Disk that fails behind its bytes.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::from_raw_os_error(5)),
            read => Ok(read),
        }
    }
}

#[test]
fn a_failing_disk_is_told_after_the_records_before_it() {
    let file = pcap_of(1, &[frame(), frame()]);
    for bytes in [file.clone(), gzip(&file), zstd(&file)] {
        let input = Box::new(Failing(io::Cursor::new(bytes)));
        let reader = TraceReader::new("disk.pcap".to_owned(), input, None, Encapsulation::Outer).unwrap();
        let outcome = drain(reader);
        assert_eq!(outcome.records.len(), 2);
        assert_eq!(
            outcome.error.unwrap().to_string(),
            "disk.pcap: cannot be read at byte 140: Input/output error (os error 5); fix that and start again"
        );
    }
}

#[test]
fn versions() {
    let mut file = pcap_of(1, &[]);
    file[6] = 3;
    refused(
        &file,
        "t.pcap: byte 4: pcap version 2.3 is not read, 2.4 is; write it anew with `tcpdump -r old.pcap -w new.pcap`",
    );
    let mut file = Pcapng::new(Order::Big).file;
    file[13] = 2;
    refused(
        &file,
        "t.pcap: byte 12: pcapng version 2.0 is not read, 1.x is; write it anew with `editcap old.pcapng new.pcapng`",
    );
}

#[test]
fn link_types() {
    let read =
        "only Ethernet (1), Linux cooked (113, 276), raw IP (12, 14, 101, 228, 229) and loopback (0, 108)";
    refused(
        &pcap_of(127, &[]),
        &format!(
            "t.pcap: byte 20: link type 127 is not read, {read}; capture on another interface, or with \
             `tcpdump -y EN10MB` where the interface offers it"
        ),
    );
    let file = pcapng(|file| {
        // Described but silent: no error until it has a packet.
        file.interface(249, 0, &[]).enhanced(0, 0, 42, &frame()).enhanced(1, 0, 4, &[0; 4]);
    });
    let text = format!(
        "t.pcap: byte 220: link type 249 is not read, {read}; leave interface 1 out: `tshark -r old.pcapng -Y \
         'frame.interface_id != 1' -w new.pcapng`"
    );
    assert_eq!(ends_in(&file), (2, text));
}

#[test]
fn cuts() {
    let file = pcap_of(1, &[frame(), frame()]);
    let text = |end: usize, record: &str, offset: usize| {
        format!(
            "t.pcap: cut at byte {end}, in the middle of the {record} that starts at byte {offset}: the packets before \
             it are good; copy or capture it again for the rest"
        )
    };
    refused(&file[..23], &text(23, "file header", 0));
    assert_eq!(ends_in(&file[..92]), (1, text(92, "packet record", 82)));
    assert_eq!(ends_in(&file[..139]), (1, text(139, "packet record", 82)));
    assert_eq!(ends_in(&zstd(&file[..139])), (1, text(139, "packet record", 82)));

    let file = pcapng(|file| {
        file.block(5, &[0; 24]).enhanced(0, 0, 42, &frame());
    });
    refused(&file[..11], &text(11, "block", 0));
    refused(&file[..20], &text(20, "section header block", 0));
    refused(&file[..40], &text(40, "interface description block", 28));
    refused(&file[..100], &text(100, "packet block", 48));
    assert_eq!(ends_in(&file[..130]), (1, text(130, "block", 124)));
    assert_eq!(ends_in(&file[..150]), (1, text(150, "block", 124)));
    assert_eq!(ends_in(&file[..158]), (1, text(158, "block", 124)));
    assert_eq!(ends_in(&file[..200]), (1, text(200, "packet block", 160)));
}

#[test]
fn damaged_compression() {
    let file = pcap_of(1, &vec![frame(); 100_000]);
    for (compression, mut bytes) in [("gzip", gzip(&file)), ("zstd", zstd(&file))] {
        let (records, text) = ends_in(&bytes[..6]);
        assert!(records == 0 && text.contains(compression) && text.contains("behind byte 0 of"), "{text}");
        let cut = bytes.len() * 9 / 10;
        let outcome = read(&bytes[..cut], Encapsulation::Outer);
        assert!(outcome.records.len() > 50_000, "{}", outcome.records.len());
        let whole_records = 24 + 58 * outcome.records.len() as u64;
        match &outcome.error {
            Some(TraceError::Compression { offset, .. }) => {
                assert!((whole_records..whole_records + 58).contains(offset));
            }
            other => panic!("{other:?}"),
        }
        let text = outcome.error.unwrap().to_string();
        assert!(
            text.starts_with(&format!("t.pcap: the {compression} data is damaged or cut short behind byte ")),
            "{text}"
        );
        let hint =
            format!("; copy or compress it again, `{compression} --test` tells whether a copy is good");
        assert!(text.ends_with(&hint), "{text}");

        // Flipped bits surface where the decompressor notices, or as lengths that cannot be.
        bytes[cut..cut + 40].fill(0xa5);
        assert!(read(&bytes, Encapsulation::Outer).error.is_some());
    }
}

#[test]
fn what_follows_gzip_data_is_said_behind_all_packets() {
    let file = pcap_of(1, &[frame(), frame()]);
    let followed = |bytes: &[u8]| [&gzip(&file), bytes].concat();
    let trailing = "t.pcap: other bytes follow the gzip data, which holds 140 bytes of capture and is whole; the packets \
                    are good, write it anew with `zcat` to be rid of the rest";
    for rest in [&b"junk"[..], &[0xff; 300_000], &[0, 0, 7]] {
        assert_eq!(ends_in(&followed(rest)), (2, trailing.to_owned()));
    }
    // The padding of tapes is none of the file, and members may follow each other.
    assert!(read(&followed(&[0; 300_000]), Encapsulation::Outer).error.is_none());
    let two = [gzip(&file[..90]), gzip(&file[90..])].concat();
    assert_eq!(read(&two, Encapsulation::Outer).records.len(), 2);
    // A member that begins and does not go on is a cut.
    assert!(ends_in(&followed(&[0x1f, 0x8b, 8])).1.contains("damaged or cut short behind byte 140"));
    let cut = [gzip(&file[..139]), b"junk".to_vec()].concat();
    assert!(ends_in(&cut).1.starts_with("t.pcap: cut at byte 139, in the middle of the packet record"));
}

#[test]
fn damage_leaves_the_packets_before_it_good_and_other_errors_do_not() {
    let file = pcap_of(1, &[frame(), frame()]);
    let error = |bytes: &[u8]| match open(bytes, Encapsulation::Outer) {
        Err(error) => error,
        Ok(reader) => drain(reader).error.unwrap(),
    };
    let damaged = [&file[..82], &[0xff; 40]].concat();
    for bytes in [&file[..139], &gzip(&file)[..40], &damaged, &[&gzip(&file)[..], b"junk"].concat()] {
        assert!(error(bytes).is_damage());
    }
    assert!(!error(b"src,dst").is_damage());
    assert!(!error(&pcap_of(127, &[])).is_damage());
    let disk = Box::new(Failing(io::Cursor::new(file)));
    let reader = TraceReader::new("disk.pcap".to_owned(), disk, None, Encapsulation::Outer).unwrap();
    assert!(!drain(reader).error.unwrap().is_damage());
}

#[test]
fn lengths_that_cannot_be() {
    let text = |offset: usize, problem: &str| {
        format!(
            "t.pcap: byte {offset}: {problem}: the file is damaged here, the packets before are good; copy or capture it \
             again"
        )
    };
    let mut file = pcap_of(1, &[frame(), frame()]);
    file[90..94].copy_from_slice(&262_145u32.to_le_bytes());
    assert_eq!(ends_in(&file), (1, text(82, "a packet record with 262145 captured bytes (at most 262144)")));

    let with_word = |at: usize, word: u32| {
        let mut file = pcapng(|file| {
            file.enhanced(0, 0, 42, &frame());
        });
        file[at..at + 4].copy_from_slice(&word.to_le_bytes());
        ends_in(&file)
    };
    assert_eq!(with_word(8, 7), (0, text(0, "a section header with byte-order magic 0x07000000")));
    assert_eq!(
        with_word(4, 24),
        (0, text(0, "a block of type 0xa0d0d0a and 24 bytes (a multiple of 4, at least 28)"))
    );
    let misfit = "a block of type 0x6 and 77 bytes (a multiple of 4, at least 12)";
    assert_eq!(with_word(128, 77), (1, text(124, misfit)));
    assert_eq!(
        with_word(128, 8),
        (1, text(124, "a block of type 0x6 and 8 bytes (a multiple of 4, at least 12)"))
    );
    assert_eq!(
        with_word(128, 1 << 30),
        (1, text(124, "a packet block of 1073741824 bytes (at most 16777216)"))
    );
    assert_eq!(
        with_word(196, 80),
        (1, text(124, "a block that begins with length 76 and ends with length 80"))
    );
    assert_eq!(
        with_word(132, 1),
        (1, text(124, "a packet of interface 1, where the section has described 1"))
    );
    assert_eq!(
        with_word(144, 45),
        (1, text(124, "a packet of 45 captured bytes in a block with room for 44"))
    );

    let ends = |build: fn(&mut Pcapng)| ends_in(&pcapng(build));
    assert_eq!(ends(|f| _ = f.block(6, &[0; 8])), (1, text(124, "a packet block with a body of 8 bytes")));
    assert_eq!(ends(|f| _ = f.block(3, &[])), (1, text(124, "a packet block with a body of 0 bytes")));
    assert_eq!(
        ends(|f| _ = f.block(1, &[1, 0, 0, 0])),
        (1, text(124, "an interface description of 4 bytes"))
    );
    let option = [1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 8, 0, 6, 0, 0, 0];
    let problem = "option 9 of 8 bytes runs past its interface description";
    assert_eq!(ends_in(&pcapng(|f| _ = f.block(1, &option))), (1, text(124, problem)));
    let problem = "time option 9 of an interface has 2 bytes";
    assert_eq!(ends(|f| _ = f.interface(1, 0, &[(9, vec![6, 0])])), (1, text(124, problem)));

    let mut file = Pcapng::new(Order::Little);
    for _ in 0..65_537 {
        file.interface(1, 0, &[]);
    }
    refused(&file.file, &text(28 + 65_536 * 20, "a section with more than 65536 interfaces"));
}

#[test]
fn input_without_a_name_is_a_flow_list_if_it_begins_with_text() {
    let header = b"src,dst,proto,sport,dport\n10.0.0.1,10.0.0.2,udp,1,2\n";
    // The end of what is looked at is within the last letter of this one.
    let foreign = ["#", &"\u{e9}".repeat(20), "\n"].concat();
    let marked = [&b"\xef\xbb\xbf"[..], header].concat();
    for given in [header.to_vec(), gzip(header), zstd(header), marked, [foreign.as_bytes(), header].concat()]
    {
        let mut records = Vec::new();
        let mut source = stream(&given).unwrap();
        assert!(source.next_batch(&mut records, 8).unwrap());
        assert_eq!((records.len(), records[0].tuple.destination_port), (1, [0, 2]));
        assert!(matches!(source, Source::FlowList { .. }));
    }
    assert!(matches!(stream(&pcapng(|_| ())), Ok(Source::Capture(_))));
    // These begin with letters and are no text.
    for (bytes, found) in [
        (&b"BZh91AY&SY\x99\x02\x11"[..], "42 5a 68 39 31 41 59 26, as bzip2 data"),
        (b"snoop\0\0\0", "73 6e 6f 6f 70 00 00 00, as a snoop capture"),
        (b"\x4d\x3c\xb2\xa0", "4d 3c b2 a0"),
    ] {
        assert!(stream(bytes).err().unwrap().to_string().contains(found));
    }
    assert!(stream(b"").err().unwrap().to_string().contains("it is empty"));
    let cut = stream(&gzip(header)[..12]).err().unwrap().to_string();
    assert!(cut.starts_with("standard input: the gzip data is damaged or cut short"), "{cut}");
}

fn stream(bytes: &[u8]) -> Result<Source, SourceError> {
    Source::read("standard input".to_owned(), Box::new(io::Cursor::new(bytes.to_vec())), Encapsulation::Outer)
}
