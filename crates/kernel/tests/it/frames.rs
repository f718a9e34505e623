//! Frames of every kind: tags, IPv4 with options, IPv6 with chains of extensions, fragments, tunnels; right, wrong in a
//! length or a byte, cut off anywhere, or no frames at all.

use proptest::prelude::*;

/// Least bytes that `BPF_PROG_TEST_RUN` takes: Ethernet's header and something behind it.
const LEAST: usize = 15;
/// And at most: what XDP finds in a page.
const MOST: usize = 3000;
const TAG: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;

/// The Internet checksum (RFC 1071): zero over bytes that contain their own.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// A transport's number, its bytes, and whether they are UDP.
fn transport() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let to = prop_oneof![Just(4789u16), Just(6081), any::<u16>()];
    let payload = prop::collection::vec(any::<u8>(), 0..60);
    let udp = (any::<u16>(), to, any::<[u8; 2]>(), prop::bool::ANY, any::<u16>(), payload.clone()).prop_map(
        |(from, to, checksum, checked, wrong, payload)| {
            let right = 8 + payload.len() as u16;
            let length = if wrong % 8 == 0 { wrong } else { right };
            let mut udp = [from.to_be_bytes(), to.to_be_bytes(), length.to_be_bytes()].concat();
            udp.extend(if checked { checksum } else { [0; 2] });
            udp.extend(payload);
            (17, udp)
        },
    );
    let tcp = (any::<[u8; 20]>(), payload.clone()).prop_map(|(mut header, payload)| {
        header[12] = 0x50 | header[12] & 15;
        (6, [&header[..], &payload].concat())
    });
    let other = (prop_oneof![Just(132), Just(1), Just(58), any::<u8>()], payload);
    prop_oneof![3 => udp, 2 => tcp, 1 => other]
}

/// Right, or now and then anything.
fn mostly(right: u16) -> impl Strategy<Value = u16> {
    prop_oneof![6 => Just(right), 1 => any::<u16>(), 1 => Just(right.wrapping_add(1))]
}

/// EtherType and packet.
fn v4() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let words = prop_oneof![4 => Just(5usize), 2 => 6usize..=15, 1 => 0usize..5];
    let fragment = prop_oneof![4 => Just(0u16), 2 => Just(0x4000), 1 => Just(0x2000), 2 => any::<u16>()];
    (words, fragment, any::<[u8; 4]>(), any::<[u8; 8]>(), any::<[u8; 40]>(), transport())
        .prop_flat_map(|(words, fragment, some, addresses, options, (protocol, transport))| {
            let header_bytes = 4 * words.max(5);
            let right = (header_bytes + transport.len()) as u16;
            (Just((words, fragment, some, addresses, options, protocol, transport)), mostly(right))
        })
        .prop_map(|((words, fragment, some, addresses, options, protocol, transport), total)| {
            let mut header = vec![0x40 | words as u8, some[0]];
            header.extend(total.to_be_bytes());
            header.extend([some[1], some[2]]);
            header.extend(fragment.to_be_bytes());
            header.extend([some[3], protocol, 0, 0]);
            header.extend(addresses);
            header.extend(&options[..4 * words.saturating_sub(5)]);
            let sum = checksum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            (0x0800, [header, transport].concat())
        })
}

/// An extension: its number, the bytes behind its first.
fn extension() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let kind = prop_oneof![Just(0u8), Just(43), Just(60), Just(FRAGMENT), Just(AUTHENTICATION)];
    let piece = prop_oneof![2 => Just([0u8; 2]), 1 => Just([0, 1]), 2 => any::<[u8; 2]>()];
    (kind, prop_oneof![8 => 0u8..4, 1 => any::<u8>()], piece, any::<u8>()).prop_map(
        |(kind, length, piece, byte)| {
            let bytes = match kind {
                FRAGMENT => 8,
                AUTHENTICATION => 8 + 4 * usize::from(length),
                _ => 8 + 8 * usize::from(length),
            };
            let mut rest = vec![byte; bytes - 1];
            rest[0] = length;
            if kind == FRAGMENT {
                rest[1..3].copy_from_slice(&piece);
            }
            (kind, rest)
        },
    )
}

/// IPv6 counterpart of [`v4`].
fn v6() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let chain = prop_oneof![
        2 => Just(Vec::new()),
        3 => prop::collection::vec(extension(), 1..4),
        1 => prop::collection::vec(extension(), 4..9),
    ];
    (any::<[u8; 3]>(), any::<[u8; 32]>(), chain, transport())
        .prop_flat_map(|(label, addresses, chain, (protocol, transport))| {
            // Each names its successor.
            let mut following = protocol;
            let mut payload = transport;
            for (kind, rest) in chain.into_iter().rev() {
                payload = [&[following][..], &rest, &payload].concat();
                following = kind;
            }
            let right = payload.len() as u16;
            (Just((label, addresses, following, payload)), mostly(right))
        })
        .prop_map(|((label, addresses, following, payload), length)| {
            let mut header = vec![0x60 | label[0] >> 4, label[0] << 4 | label[1] & 15, label[1], label[2]];
            header.extend(length.to_be_bytes());
            header.extend([following, 64]);
            header.extend(addresses);
            (0x86dd, [header, payload].concat())
        })
}

fn framed() -> impl Strategy<Value = Vec<u8>> {
    let tag = (prop_oneof![4 => Just(0usize), 4 => Just(1), 1 => Just(2)], any::<[u8; 2]>());
    let tags = prop_oneof![3 => Just(Vec::new()), 3 => prop::collection::vec(tag, 1..=3)];
    let other = (any::<u16>(), prop::collection::vec(any::<u8>(), 0..80));
    (tags, prop_oneof![4 => v4(), 4 => v6(), 1 => other]).prop_map(|(tags, (ether_type, packet))| {
        let mut frame = vec![2; 12];
        for (kind, id) in tags {
            frame.extend(TAG[kind].to_be_bytes());
            frame.extend(id);
        }
        frame.extend(ether_type.to_be_bytes());
        frame.extend(packet);
        frame
    })
}

/// Any frame that can be tried.
pub(crate) fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let flips = prop_oneof![
        5 => Just(Vec::new()),
        1 => prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ];
    let cut = prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    let damaged = (framed(), flips, cut).prop_map(|(mut frame, flips, cut)| {
        for (place, byte) in flips {
            let place = place.index(frame.len());
            frame[place] = byte;
        }
        if let Some(cut) = cut {
            frame.truncate(cut.index(frame.len() + 1));
        }
        frame.resize(frame.len().clamp(LEAST, MOST), 0);
        frame
    });
    prop_oneof![20 => damaged, 1 => prop::collection::vec(any::<u8>(), LEAST..200)]
}
