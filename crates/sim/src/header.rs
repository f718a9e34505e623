//! Header fields of a packet, and the hashes that switches are configured to take of them.

use crate::transport::Transport;
use crate::transport::{ROCE_PORT, UEC_PORT};
use anabranch_split::hash::Hash;
use anabranch_split::hash::toeplitz::INPUT_MAX;
use anabranch_split::protocol::TCP;

/// IPv4 address of a host: host 0 has 10.0.0.1.
#[must_use]
pub fn address(host: u32) -> [u8; 4] {
    ((10 << 24) + host + 1).to_be_bytes()
}

/// Fields of a packet's headers that switches may hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Host that sends; [`address`] is its address.
    pub source: u32,
    /// Host that receives.
    pub destination: u32,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// IANA protocol number.
    pub protocol: u8,
    /// Destination queue pair of the base transport header, 24 bits; RoCE alone has one.
    pub queue_pair: Option<u32>,
}

impl Header {
    /// Header of a transport's packets between two hosts, the sender first, to the port that their receiver waits at;
    /// `queue_pair` is RoCE's number there.
    #[must_use]
    pub fn of(transport: &Transport, hosts: [u32; 2], source_port: u16, queue_pair: u32) -> Self {
        let (protocol, destination_port) = transport.protocol().service();
        let queue_pair = matches!(transport, Transport::Roce(_)).then_some(queue_pair);
        let [source, destination] = hosts;
        Self { source, destination, source_port, destination_port, protocol, queue_pair }
    }

    /// Header of the packets that go the other way. `queue_pair` is the sender's. RDMA has its source port in both
    /// directions, since Linux makes it of both numbers of queue pairs alike (`rdma_calc_flow_label`).
    #[must_use]
    pub fn back(&self, queue_pair: Option<u32>) -> Self {
        let ports = [self.source_port, self.destination_port];
        let [source_port, destination_port] = match self.destination_port {
            ROCE_PORT | UEC_PORT if self.protocol != TCP => ports,
            _ => [ports[1], ports[0]],
        };
        Self {
            source: self.destination,
            destination: self.source,
            source_port,
            destination_port,
            queue_pair,
            ..*self
        }
    }
}

/// A field that switches may hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Field {
    /// Source address.
    SourceAddress,
    /// Destination address.
    DestinationAddress,
    /// Source port.
    SourcePort,
    /// Destination port.
    DestinationPort,
    /// Protocol of IP.
    Protocol,
    /// Destination queue pair (`SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP`).
    QueuePair,
}

impl Field {
    /// All of them, in the order in which a hash reads them.
    pub const ALL: [Self; 6] = [
        Self::SourceAddress,
        Self::DestinationAddress,
        Self::SourcePort,
        Self::DestinationPort,
        Self::Protocol,
        Self::QueuePair,
    ];

    /// Its name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SourceAddress => "src_ip",
            Self::DestinationAddress => "dst_ip",
            Self::SourcePort => "src_port",
            Self::DestinationPort => "dst_port",
            Self::Protocol => "protocol",
            Self::QueuePair => "dst_qp",
        }
    }
}

/// Set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(u8);

impl Fields {
    /// Fields that an algorithm reads where none are named: the five-tuple; without the protocol for Toeplitz, as
    /// receive-side scaling has it.
    #[must_use]
    pub fn default_of(algorithm: Hash) -> Self {
        let tuple = &Field::ALL[..if algorithm == Hash::Toeplitz { 4 } else { 5 }];
        tuple.iter().copied().collect()
    }

    /// Whether a field is among them.
    #[must_use]
    pub const fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u8 != 0
    }

    /// The fields, in the order in which a hash reads them.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |&field| self.has(field))
    }
}

impl FromIterator<Field> for Fields {
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> Self {
        Self(fields.into_iter().fold(0, |set, field| set | 1 << field as u8))
    }
}

/// Hash that a switch is configured to choose by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchHash {
    /// Function of the hash: one that reads any bytes ([`Hash::key_of_bytes`]).
    pub algorithm: Hash,
    /// Fields that it reads, one behind the other in network byte order. A field that a packet does not have is left out.
    pub fields: Fields,
    /// Seed, as the function takes one.
    pub seed: u32,
    /// Bits by which the function's result is rotated right before a next hop is picked by it
    /// (`SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_OFFSET`).
    pub offset: u8,
}

impl SwitchHash {
    /// Functions that switches may be configured to, in the order in which tables show them.
    pub fn algorithms() -> impl Iterator<Item = Hash> {
        Hash::ALL.iter().copied().filter(|hash| hash.key_of_bytes(&[], 0).is_some())
    }

    /// Hash of a header: the function's result, of XXH3 the low half, rotated within its bits, times the factor by which
    /// narrow results fill 32 bits ([`Hash::factor`]).
    #[must_use]
    pub fn of(&self, header: &Header) -> u32 {
        let (mut bytes, mut length) = ([0; INPUT_MAX], 0);
        let mut add = |field: &[u8]| {
            bytes[length..length + field.len()].copy_from_slice(field);
            length += field.len();
        };
        for field in self.fields.iter() {
            match field {
                Field::SourceAddress => add(&address(header.source)),
                Field::DestinationAddress => add(&address(header.destination)),
                Field::SourcePort => add(&header.source_port.to_be_bytes()),
                Field::DestinationPort => add(&header.destination_port.to_be_bytes()),
                Field::Protocol => add(&[header.protocol]),
                Field::QueuePair => {
                    header.queue_pair.iter().for_each(|number| add(&number.to_be_bytes()[1..]));
                }
            }
        }
        let key = self.algorithm.key_of_bytes(&bytes[..length], self.seed).unwrap_or(0);
        let bits = self.algorithm.bits().min(u32::BITS);
        let result = self.algorithm.result(key) as u32;
        let offset = u32::from(self.offset) % bits;
        let rotated = match offset {
            0 => result,
            _ => result >> offset | result << (bits - offset) & u32::MAX >> (u32::BITS - bits),
        };
        rotated.wrapping_mul(self.algorithm.factor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::SERVER_PORT;
    use anabranch_split::FiveTuple;
    use anabranch_split::protocol::UDP;
    use proptest::prelude::*;

    fn any_header() -> impl Strategy<Value = Header> {
        let hosts = (0u32..1 << 20, 0u32..1 << 20);
        (hosts, any::<(u16, u16)>(), prop_oneof![Just(TCP), Just(UDP)], proptest::option::of(0u32..1 << 24))
            .prop_map(|((source, destination), (source_port, destination_port), protocol, queue_pair)| {
                Header { source, destination, source_port, destination_port, protocol, queue_pair }
            })
    }

    proptest! {
        /// The default is the five-tuple, hashed as the splitting library hashes it.
        #[test]
        fn the_default_is_the_five_tuple(header in any_header(), seed: u32) {
            let tuple = FiveTuple::v4(
                address(header.source),
                address(header.destination),
                header.protocol,
                header.source_port,
                header.destination_port,
            );
            for algorithm in SwitchHash::algorithms() {
                let hash = SwitchHash { algorithm, fields: Fields::default_of(algorithm), seed, offset: 0 };
                prop_assert_eq!(hash.of(&header), algorithm.key(&tuple, seed) as u32, "{}", algorithm);
            }
        }

        /// An offset rotates: as many bits as the function has lead back, and no bit is lost on the way.
        #[test]
        fn offsets_rotate_within_the_bits_of_the_function(header in any_header(), offset in 0u8..64) {
            for algorithm in SwitchHash::algorithms() {
                let of = |offset| {
                    let fields = Fields::default_of(algorithm);
                    let hash = SwitchHash { algorithm, fields, seed: 7, offset }.of(&header);
                    algorithm.result(hash.into())
                };
                let bits = algorithm.bits().min(32);
                let steps = u32::from(offset) % bits;
                let wide = of(0) << bits | of(0);
                prop_assert_eq!(of(offset), wide >> steps & ((1 << bits) - 1), "{}", algorithm);
            }
        }

        /// A field counts exactly where it is among those that are read, and a packet has it.
        #[test]
        fn fields_count_where_they_are_read(header in any_header()) {
            let other = Header {
                source: header.source ^ 1,
                destination: header.destination ^ 1,
                source_port: header.source_port ^ 1,
                destination_port: header.destination_port ^ 1,
                protocol: header.protocol ^ 1,
                queue_pair: header.queue_pair.map(|number| number ^ 1),
            };
            for field in Field::ALL {
                let changed = match field {
                    Field::SourceAddress => Header { source: other.source, ..header },
                    Field::DestinationAddress => Header { destination: other.destination, ..header },
                    Field::SourcePort => Header { source_port: other.source_port, ..header },
                    Field::DestinationPort => Header { destination_port: other.destination_port, ..header },
                    Field::Protocol => Header { protocol: other.protocol, ..header },
                    Field::QueuePair => Header { queue_pair: other.queue_pair, ..header },
                };
                let hash = |fields: Fields| SwitchHash { algorithm: Hash::Crc32, fields, seed: 0, offset: 0 };
                let all: Fields = Field::ALL.into_iter().collect();
                prop_assert_eq!(hash(all).of(&changed) != hash(all).of(&header), changed != header);
                let without: Fields = Field::ALL.into_iter().filter(|&one| one != field).collect();
                prop_assert_eq!(hash(without).of(&changed), hash(without).of(&header));
            }
        }
    }

    #[test]
    fn answers_have_the_fields_the_other_way_round() {
        let forth = Header {
            source: 3,
            destination: 5,
            source_port: 50_000,
            destination_port: SERVER_PORT,
            protocol: TCP,
            queue_pair: None,
        };
        let back = forth.back(None);
        assert_eq!([back.source, back.destination], [5, 3]);
        assert_eq!([back.source_port, back.destination_port], [SERVER_PORT, 50_000]);
        let forth = Header { destination_port: ROCE_PORT, protocol: UDP, queue_pair: Some(9), ..forth };
        let back = forth.back(Some(8));
        assert_eq!([back.source_port, back.destination_port], [50_000, ROCE_PORT]);
        assert_eq!(back.queue_pair, Some(8));
    }
}
