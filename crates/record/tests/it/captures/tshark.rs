//! Captures as tshark reads them.

use anabranch_fabric::Fabric;
use anabranch_record::write_capture;
use anabranch_sim::{CapturedPacket, Framing};
use std::io::Write;
use std::process::{Command, Stdio};

/// Least severity of complaints (`PI_NOTE` of Wireshark's epan/proto.h); messages below it are informative.
const NOTE: u64 = 0x0040_0000;
/// Time that tshark has, of timeout(1).
const LIMIT_S: &str = "300";
/// Statuses of timeout(1).
const NOT_FOUND: i32 = 127;
const TIMED_OUT: i32 = 124;

/// Fields of each packet, as tshark reads them with every checksum verified; `None` without tshark.
pub(crate) fn tshark(
    fabric: &Fabric,
    captures: &[CapturedPacket],
    fields: &[&str],
) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("timeout");
    command.args([LIMIT_S, "tshark", "-n", "-r", "-", "-T", "fields", "-E", "aggregator=;"]);
    for preference in ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{preference}:TRUE")]);
    }
    command.args(["-o", "tcp.relative_sequence_numbers:FALSE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut file = Vec::new();
    write_capture("memory", &mut file, fabric, Framing::ETHERNET, captures).unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || input.write_all(&file));
    let output = child.wait_with_output().unwrap();
    let fed = feeding.join().unwrap();
    if output.status.code() == Some(NOT_FOUND) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no tshark");
        return None;
    }
    assert_ne!(output.status.code(), Some(TIMED_OUT), "tshark has not ended after {LIMIT_S} s");
    fed.unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !complaint.contains("tshark:"), "{complaint}");
    let rows = String::from_utf8(output.stdout).unwrap();
    Some(rows.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// Messages of severity note and above, with the packet's number.
pub(crate) fn complaints(fabric: &Fabric, captures: &[CapturedPacket]) -> Option<Vec<(usize, String)>> {
    let fields = ["_ws.malformed", "_ws.expert.severity", "_ws.expert.message"];
    let rows = tshark(fabric, captures, &fields)?;
    assert_eq!(rows.len(), captures.len());
    let mut complaints = Vec::new();
    for (number, row) in (1..).zip(&rows) {
        assert_eq!(row[0], "", "packet {number}");
        let severities = row[1].split(';').filter(|text| !text.is_empty());
        let severity = severities.map(|text| text.parse::<u64>().unwrap()).max().unwrap_or(0);
        if severity >= NOTE {
            complaints.push((number, row[2].clone()));
        }
    }
    Some(complaints)
}
