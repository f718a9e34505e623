//! Captured packets as pcapng, for Wireshark and other programs that read captures.
//!
//! The simulator's packets have no bytes: headers are made from the simulator's fields, payloads and what is behind them are
//! cut off. Times are those of the simulation, in picoseconds from its start, which reads as 1970.

mod checksum;
mod connection_ports;
mod container;
mod headers;
mod pause;
mod queue_pair_numbers;
mod roce;
mod tcp;
mod uec;

use crate::RecordError;
use crate::whole_file::write_whole;
use anabranch_fabric::Fabric;
use anabranch_sim::transport::SERVER_PORT;
use anabranch_sim::{CapturedPacket, Carrier, Framing, Kind, marks};
use connection_ports::{ConnectionPorts, ends};
use container::Container;
use queue_pair_numbers::QueuePairNumbers;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Captured packet, and the numbers that its sender and its receiver have in its headers.
type Addressed<'a> = (&'a CapturedPacket, [u32; 2]);

/// Writes the packets of each port into a file of its own in `folder`, which is created if necessary:
/// `leaf0-spine1.pcapng`, or `leaf0-spine1-0.pcapng` and so on for parallel links. A connection has the same addresses
/// and ports in all of them. Captures are given by time. Returns the files by number of the port; a port that sent nothing has
/// none.
///
/// # Errors
/// Fails if a file cannot be written: that file does not exist then, and those before it are complete. Fails before
/// anything is written if the frames have no room for the headers.
pub fn write_captures(
    folder: &Path,
    fabric: &Fabric,
    framing: Framing,
    captures: &[CapturedPacket],
) -> Result<Vec<PathBuf>, RecordError> {
    check(&folder.display().to_string(), framing, captures)?;
    let mut by_port: BTreeMap<u32, Vec<Addressed<'_>>> = BTreeMap::new();
    for addressed in address(captures) {
        by_port.entry(addressed.0.port).or_default().push(addressed);
    }
    let refused = |path: &Path, source| RecordError::Write { file: path.display().to_string(), source };
    fs::create_dir_all(folder).map_err(|source| refused(folder, source))?;
    let mut paths = Vec::new();
    for (port, packets) in by_port {
        let path = folder.join(format!("{}.pcapng", port_name(fabric, port, '-')));
        write_whole(&path, |out| write_section(out, fabric, framing, &packets))
            .map_err(|source| refused(&path, source))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Writes all packets, given by time, as one capture with an interface for each port that sent any. Errors call the capture
/// `name`.
///
/// # Errors
/// Fails in the cases of [`write_captures`].
pub fn write_capture<W: Write>(
    name: &str,
    out: W,
    fabric: &Fabric,
    framing: Framing,
    captures: &[CapturedPacket],
) -> Result<(), RecordError> {
    check(name, framing, captures)?;
    write_section(out, fabric, framing, &address(captures))
        .map_err(|source| RecordError::Write { file: name.to_owned(), source })
}

fn address(captures: &[CapturedPacket]) -> Vec<Addressed<'_>> {
    debug_assert!(captures.is_sorted_by_key(|capture| capture.time_ps), "captures are given by time");
    let (mut ports, mut queue_pairs) = (ConnectionPorts::default(), QueuePairNumbers::default());
    let mut numbers = |capture: &CapturedPacket| {
        match (capture.header, capture.carrier) {
            (Some(header), Carrier::Stream) => {
                return [header.source_port, header.destination_port].map(u32::from);
            }
            (Some(header), Carrier::Roce(..)) => return [0, header.queue_pair.unwrap_or(0)],
            _ => {}
        }
        let (client, server) = ends(capture);
        let [at_client, at_server] = match capture.carrier {
            Carrier::Stream => [ports.of(capture), SERVER_PORT].map(u32::from),
            Carrier::Roce(..) | Carrier::Uec(_) => queue_pairs.of(capture, [client, server]),
        };
        if capture.src == client { [at_client, at_server] } else { [at_server, at_client] }
    };
    captures.iter().map(|capture| (capture, numbers(capture))).collect()
}

/// Checks that the frames have this framing, and are long enough.
fn check(file: &str, framing: Framing, captures: &[CapturedPacket]) -> Result<(), RecordError> {
    let error = |problem, hint| Err(RecordError::Framing { file: file.to_owned(), problem, hint });
    for CapturedPacket { packet, carrier, .. } in captures {
        let is_stream = *carrier == Carrier::Stream;
        // Answers of RDMA, load balancers' messages and pauses have lengths of their own.
        let is_framed = match packet.kind {
            Kind::Data | Kind::Datagram => true,
            Kind::Probe | Kind::HostProbe | Kind::Pause => false,
            _ => is_stream,
        };
        let least = headers::bytes_min(packet.kind);
        if is_framed && is_stream && framing.header_bytes < least {
            let transport = if packet.kind.is_datagram() { "UDP" } else { "TCP" };
            let problem = format!(
                "header_bytes: {} around a payload, but Ethernet, IPv4 and {transport} take {least}",
                framing.header_bytes
            );
            return error(problem, "simulate with that many or more, or capture no ports");
        }
        let expected = framing.frame_bytes(packet.payload_bytes);
        if is_framed && packet.marks & marks::TRIMMED == 0 && packet.frame_bytes != expected {
            let (frame, payload) = (packet.frame_bytes, packet.payload_bytes);
            let problem = format!("a frame of {frame} bytes around {payload} of payload, not {expected}");
            return error(problem, "give the framing of the simulation that captured it");
        }
    }
    Ok(())
}

fn write_section<W: Write>(
    out: W,
    fabric: &Fabric,
    framing: Framing,
    packets: &[Addressed<'_>],
) -> io::Result<()> {
    let mut container = Container::new(out);
    container.section("simulated", concat!("anabranch ", env!("CARGO_PKG_VERSION")))?;
    let mut interfaces: BTreeMap<u32, u32> = packets.iter().map(|(capture, _)| (capture.port, 0)).collect();
    for (number, (&port, interface)) in (0..).zip(&mut interfaces) {
        *interface = number;
        let rate_bps = fabric.ports()[port as usize].rate.bps();
        container.interface(&port_name(fabric, port, '>'), rate_bps, headers::BYTES_MAX as u32)?;
    }
    let mut bytes = Vec::with_capacity(headers::BYTES_MAX);
    for &(capture, numbers) in packets {
        let rate_bps = fabric.ports()[capture.port as usize].rate.bps();
        let frame_bytes = headers::write(capture, numbers, framing, rate_bps, &mut bytes);
        container.packet(interfaces[&capture.port], capture.time_ps, frame_bytes, &bytes)?;
    }
    container.flush()
}

/// Names of a port's two nodes, and its number among parallel links.
fn port_name(fabric: &Fabric, port: u32, between: char) -> String {
    let (ports, nodes) = (fabric.ports(), fabric.nodes());
    let (from, to) = (ports[port as usize].from, ports[port as usize].to);
    let name = format!("{}{between}{}", nodes[from as usize].name, nodes[to as usize].name);
    let parallel = || fabric.ports_of(from).iter().filter(|&&other| ports[other as usize].to == to);
    if parallel().count() == 1 {
        return name;
    }
    format!("{name}-{}", parallel().take_while(|&&other| other != port).count())
}
