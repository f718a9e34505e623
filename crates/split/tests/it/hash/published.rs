//! Every hash against published values and against other implementations (`vectors/hash`).

use anabranch_split::hash::{crc, jenkins, murmur3, pearson, toeplitz, wyhash32, xor_fold, xxh3};
use anabranch_split::{FiveTuple, protocol};
use proptest::prelude::*;

/// The check input of the catalogue of CRCs.
const CHECK: &[u8] = b"123456789";

#[test]
fn other_implementations_agree() {
    let mut rows = 0;
    for line in include_str!("../../../../../vectors/hash/general.csv").lines().skip(1) {
        let [name, seed, input, expected] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}: not four columns");
        };
        let seed = u32::from_str_radix(seed, 16).unwrap();
        let input: Vec<u8> =
            (0..input.len() / 2).map(|i| u8::from_str_radix(&input[2 * i..2 * i + 2], 16).unwrap()).collect();
        let hash: u64 = match name {
            "crc8" => crc::crc8(&input, seed).into(),
            "crc16" => crc::crc16(&input, seed).into(),
            "crc32" => crc::crc32(&input, seed).into(),
            "crc32c" => crc::crc32c(&input, seed).into(),
            "lookup3" => jenkins::lookup3(&input, seed).into(),
            "murmur3" => murmur3::murmur3(&input, seed).into(),
            "pearson8" => pearson::pearson8(&input, seed).into(),
            "pearson32" => pearson::pearson32(&input, seed).into(),
            "wyhash32" => wyhash32::wyhash32(&input, seed).into(),
            "xxh3" => xxh3::xxh3(&input, seed),
            other => panic!("{other}: no such function"),
        };
        assert_eq!(format!("{hash:x}"), expected, "{line}");
        rows += 1;
    }
    assert_eq!(rows, 61 * (2 + 2 + 6 * 4) + 60 * 2, "vectors are missing");
}

#[test]
fn crc_check_values() {
    // Catalogue of parametrised CRC algorithms (reveng).
    assert_eq!(crc::crc8(CHECK, 0), 0xf4);
    assert_eq!(crc::crc16(CHECK, 0), 0xbb3d);
    assert_eq!(crc::crc32(CHECK, 0), 0xcbf4_3926);
    assert_eq!(crc::crc32c(CHECK, 0), 0xe306_9283);
    // RFC 3720 B.4: 32 bytes of zeroes.
    assert_eq!(crc::crc32c(&[0; 32], 0), 0x8a91_36aa);
}

#[test]
fn jenkins_published_values() {
    // lookup3.c, driver5.
    assert_eq!(jenkins::lookup3(b"", 0), 0xdead_beef);
    assert_eq!(jenkins::lookup3(b"", 0xdead_beef), 0xbd5b_7dde);
    assert_eq!(jenkins::lookup3(b"Four score and seven years ago", 0), 0x1777_0551);
    assert_eq!(jenkins::lookup3(b"Four score and seven years ago", 1), 0xcd62_8161);
    // One-at-a-time as Wikipedia lists it.
    assert_eq!(jenkins::one_at_a_time(b"", 0), 0);
    assert_eq!(jenkins::one_at_a_time(b"a", 0), 0xca2e_9442);
    assert_eq!(jenkins::one_at_a_time(b"The quick brown fox jumps over the lazy dog", 0), 0x519e_91f5);
}

/// Verification value of SMHasher: the hash of the hashes of 0, 1, ... 255 bytes under seeds 256, 255, ... 1.
fn smhasher_verification(hash: fn(&[u8], u32) -> u32) -> u32 {
    let key: Vec<u8> = (0..=255).collect();
    let hashes: Vec<u8> =
        (0..256_u32).flat_map(|n| hash(&key[..n as usize], 256 - n).to_le_bytes()).collect();
    hash(&hashes, 0)
}

#[test]
fn smhasher_verifications() {
    assert_eq!(smhasher_verification(murmur3::murmur3), 0xb0f5_7ee3);
    // rurban/smhasher, main.cpp.
    assert_eq!(smhasher_verification(wyhash32::wyhash32), 0x09de_8066);
}

#[test]
fn pearson_steps_permute() {
    let mut values: Vec<u8> = (0..=255).map(|byte| pearson::pearson8(&[byte], 0)).collect();
    // RFC 3074 section 6: the table's first and last rows.
    assert_eq!(values[..8], [251, 175, 119, 215, 81, 14, 79, 191]);
    assert_eq!(values[248..], [149, 80, 170, 68, 6, 169, 234, 151]);
    values.sort_unstable();
    assert_eq!(values, (0..=255).collect::<Vec<u8>>());
}

/// Checks the values of "Verifying the RSS Hash Calculation", Microsoft: source, destination, hash of addresses, hash
/// with TCP ports.
#[test]
fn toeplitz_microsoft_verification() {
    let suite = [
        ("66.9.149.187:2794", "161.142.100.80:1766", 0x323e_8fc2, 0x51cc_c178),
        ("199.92.111.2:14230", "65.69.140.83:4739", 0xd718_262a, 0xc626_b0ea),
        ("24.19.198.95:12898", "12.22.207.184:38024", 0xd2d0_a5de, 0x5c2b_394a),
        ("38.27.205.30:48228", "209.142.163.6:2217", 0x8298_9176, 0xafc7_327f),
        ("153.39.163.191:44251", "202.188.127.2:1303", 0x5d18_09c5, 0x10e8_28a2),
        ("[3ffe:2501:200:1fff::7]:2794", "[3ffe:2501:200:3::1]:1766", 0x2cc1_8cd5, 0x4020_7d3d),
        ("[3ffe:501:8::260:97ff:fe40:efab]:14230", "[ff02::1]:4739", 0x0f0c_461c, 0xdde5_1bbf),
        (
            "[3ffe:1900:4545:3:200:f8ff:fe21:67cf]:44251",
            "[fe80::200:f8ff:fe21:67cf]:38024",
            0x4b61_e985,
            0x02d1_feef,
        ),
    ];
    let table = toeplitz::Table::new(&toeplitz::key_of(0));
    for (source, destination, of_addresses, with_ports) in suite {
        const GRE: u8 = 47;
        for (protocol, expected) in [
            (GRE, of_addresses),
            (protocol::ICMP, of_addresses),
            (protocol::TCP, with_ports),
            (protocol::UDP, with_ports),
        ] {
            let tuple = tuple(source, destination, protocol);
            let mut buffer = [0; 37];
            let input = toeplitz::input(&tuple, &mut buffer);
            assert_eq!(
                toeplitz::toeplitz(&toeplitz::MICROSOFT_KEY, input),
                expected,
                "{source} {destination}"
            );
            assert_eq!(table.hash(input), expected, "{source} {destination}");
        }
    }
}

fn tuple(source: &str, destination: &str, protocol: u8) -> FiveTuple {
    use std::net::SocketAddr::{V4, V6};
    match (source.parse().unwrap(), destination.parse().unwrap()) {
        (V4(s), V4(d)) => FiveTuple::v4(s.ip().octets(), d.ip().octets(), protocol, s.port(), d.port()),
        (V6(s), V6(d)) => FiveTuple::v6(s.ip().octets(), d.ip().octets(), protocol, s.port(), d.port()),
        _ => panic!("{source} {destination}: of two versions"),
    }
}

proptest! {
    /// Hash of a tuple in pieces, the form in which the kernel's programs have it.
    #[test]
    fn wyhash32_of_pieces(addresses: [u32; 8], ports: u32, protocol: u8, seed: u32) {
        let bytes = |words: &[u32]| -> Vec<u8> {
            words.iter().chain([&ports]).flat_map(|word| word.to_le_bytes()).chain([protocol]).collect()
        };
        let [a, b, c, d, e, f, g, h] = addresses;
        prop_assert_eq!(
            wyhash32::wyhash32_tuple([[a, b]], ports, protocol, seed),
            wyhash32::wyhash32(&bytes(&addresses[..2]), seed)
        );
        prop_assert_eq!(
            wyhash32::wyhash32_tuple([[a, b], [c, d], [e, f], [g, h]], ports, protocol, seed),
            wyhash32::wyhash32(&bytes(&addresses), seed)
        );
    }

    #[test]
    fn xor_is_of_bytes_and_halves(bytes in prop::collection::vec(any::<u8>(), 0..40), seed: u32) {
        let mut columns = seed.to_be_bytes();
        for (i, byte) in bytes.iter().enumerate() {
            columns[i % 4] ^= byte;
        }
        let [a, b, c, d] = columns;
        prop_assert_eq!(xor_fold::xor32(&bytes, seed), u32::from_be_bytes(columns));
        prop_assert_eq!(xor_fold::xor16(&bytes, seed), u16::from_be_bytes([a ^ c, b ^ d]));
        prop_assert_eq!(xor_fold::xor8(&bytes, seed), a ^ b ^ c ^ d);
    }

    #[test]
    fn toeplitz_table_is_the_bitwise_hash(input in prop::collection::vec(any::<u8>(), 0..=36), seed: u32) {
        let key = toeplitz::key_of(seed);
        prop_assert_eq!(toeplitz::Table::new(&key).hash(&input), toeplitz::toeplitz(&key, &input));
    }
}
