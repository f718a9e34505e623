//! Files of captures: their names, and nothing half-written.

use super::simulated::*;
use anabranch_record::{RecordError, write_captures};
use anabranch_sim::transport::Transport;
use anabranch_sim::{CapturedPacket, Framing};
use std::fs;
use std::path::{Path, PathBuf};

/// Creates an empty folder.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&place);
    place
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn some_captures(framing: Framing, transport: Transport) -> Vec<CapturedPacket> {
    let mut settings = settings(vec![transport], &[0, 1, 8, 10, 12, 14]);
    settings.framing = framing;
    captures(&fabric(), &(0..8).map(|_| flow(0, 2, 5000)).collect::<Vec<_>>(), &settings)
}

#[test]
fn every_port_that_sent_has_its_file() {
    let folder = place("every_port").join("captures");
    let captures = some_captures(Framing::ETHERNET, Transport::Tcp(tcp()));
    let paths = write_captures(&folder, &fabric(), Framing::ETHERNET, &captures).unwrap();
    let mut ports: Vec<u32> = captures.iter().map(|capture| capture.port).collect();
    ports.sort_unstable();
    ports.dedup();
    let name = |port: u32| match port {
        0 => "host0-leaf0.pcapng",
        1 => "leaf0-host0.pcapng",
        8 => "leaf0-spine0-0.pcapng",
        10 => "leaf0-spine0-1.pcapng",
        12 => "leaf0-spine1-0.pcapng",
        _ => "leaf0-spine1-1.pcapng",
    };
    assert!(ports.len() > 3, "{ports:?}");
    assert_eq!(paths, ports.iter().map(|&port| folder.join(name(port))).collect::<Vec<_>>());
    assert_eq!(names(&folder).len(), paths.len());
    // What left the host left through an uplink, under the same name.
    let tuples = |path: &PathBuf| super::reader::tuples(fs::read(path).unwrap());
    let mut sent = tuples(&paths[0]);
    let mut passed: Vec<_> = paths[2..].iter().flat_map(tuples).collect();
    sent.sort();
    passed.sort();
    assert_eq!(sent, passed);
    sent.dedup();
    assert_eq!(sent.len(), 8);
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_not_there() {
    let folder = place("refused");
    let captures = some_captures(Framing::ETHERNET, Transport::Tcp(tcp()));
    fs::create_dir_all(folder.join("leaf0-host0.pcapng")).unwrap();
    let error = write_captures(&folder, &fabric(), Framing::ETHERNET, &captures).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("leaf0-host0.pcapng: cannot be written: ") && text.contains("choose another folder")
    );
    assert_eq!(names(&folder), ["host0-leaf0.pcapng", "leaf0-host0.pcapng"]);

    let file = folder.join("host0-leaf0.pcapng");
    let error = write_captures(&file, &fabric(), Framing::ETHERNET, &captures).unwrap_err();
    assert!(error.to_string().starts_with(&file.display().to_string()));
}

#[test]
fn frames_without_room_for_headers_are_refused() {
    let folder = place("no_room");
    let bare = Framing { header_bytes: 57, ..Framing::ETHERNET };
    let captures = some_captures(bare, Transport::Tcp(tcp()));
    let error = write_captures(&folder, &fabric(), bare, &captures).unwrap_err();
    assert!(matches!(error, RecordError::Framing { .. }));
    assert!(
        error.to_string().contains("header_bytes: 57 around a payload, but Ethernet, IPv4 and TCP take 58")
    );
    let error = write_captures(&folder, &fabric(), Framing::ETHERNET, &captures).unwrap_err();
    assert!(error.to_string().contains("give the framing of the simulation"), "{error}");
    assert!(!folder.exists());
    // Datagrams fit.
    let datagrams = some_captures(bare, udp());
    assert!(!write_captures(&folder, &fabric(), bare, &datagrams).unwrap().is_empty());
}
