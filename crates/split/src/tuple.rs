//! Identity of a connection: addresses, protocol, ports.

/// IANA protocol numbers that carry ports, and ICMP.
pub mod protocol {
    /// ICMP (RFC 792).
    pub const ICMP: u8 = 1;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// SCTP (RFC 9260).
    pub const SCTP: u8 = 132;
}

/// Five-tuple in network byte order, with no padding: 38 bytes, the layout that NumPy arrays of tuples share.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FiveTuple {
    /// Source address; IPv4 uses the first four bytes, the rest are zero.
    pub source: [u8; 16],
    /// Destination address, in the form of `source`.
    pub destination: [u8; 16],
    /// Source port, big-endian; zero if the protocol has none.
    pub source_port: [u8; 2],
    /// Destination port, big-endian.
    pub destination_port: [u8; 2],
    /// IANA protocol number.
    pub protocol: u8,
    /// IP version: 4 or 6.
    pub version: u8,
}

impl FiveTuple {
    /// Number of bytes of one value in memory and in arrays.
    pub const SIZE: usize = 38;

    /// Makes an IPv4 tuple.
    #[must_use]
    pub fn v4(
        source: [u8; 4],
        destination: [u8; 4],
        protocol: u8,
        source_port: u16,
        destination_port: u16,
    ) -> Self {
        let wide = |a: [u8; 4]| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&a);
            bytes
        };
        Self {
            source: wide(source),
            destination: wide(destination),
            source_port: source_port.to_be_bytes(),
            destination_port: destination_port.to_be_bytes(),
            protocol,
            version: 4,
        }
    }

    /// Makes an IPv6 tuple.
    #[must_use]
    pub fn v6(
        source: [u8; 16],
        destination: [u8; 16],
        protocol: u8,
        source_port: u16,
        destination_port: u16,
    ) -> Self {
        Self {
            source,
            destination,
            source_port: source_port.to_be_bytes(),
            destination_port: destination_port.to_be_bytes(),
            protocol,
            version: 6,
        }
    }

    /// Number of bytes of one address: 4 or 16.
    #[must_use]
    pub fn address_len(&self) -> usize {
        if self.version == 6 { 16 } else { 4 }
    }

    /// Same connection seen from the other end.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..*self
        }
    }

    /// Packs source, destination, source port, destination port and protocol without padding: 13 bytes for IPv4, 37 for
    /// IPv6, written to the front of `buffer`. The general-purpose packet hashes read them.
    #[inline(always)]
    pub fn packed<'a>(&self, buffer: &'a mut [u8; 37]) -> &'a [u8] {
        let head = |a: &[u8; 16]| u128::from(u32::from_le_bytes([a[0], a[1], a[2], a[3]]));
        let [[p0, p1], [p2, p3]] = [self.source_port, self.destination_port];
        let tail = u128::from(u64::from_le_bytes([p0, p1, p2, p3, self.protocol, 0, 0, 0]));
        if self.version == 6 {
            buffer[..16].copy_from_slice(&self.source);
            buffer[16..32].copy_from_slice(&self.destination);
            buffer[32..].copy_from_slice(&tail.to_le_bytes()[..5]);
            return buffer;
        }
        // One store: hashes load across fields, and a load that spans several recent stores stalls.
        let word = head(&self.source) | head(&self.destination) << 32 | tail << 64;
        buffer[..16].copy_from_slice(&word.to_le_bytes());
        &buffer[..13]
    }

    /// Converts to 38 bytes, as stored in arrays.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..16].copy_from_slice(&self.source);
        bytes[16..32].copy_from_slice(&self.destination);
        bytes[32..34].copy_from_slice(&self.source_port);
        bytes[34..36].copy_from_slice(&self.destination_port);
        bytes[36] = self.protocol;
        bytes[37] = self.version;
        bytes
    }

    /// Converts back from the bytes of [`Self::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let mut tuple = Self::v6([0; 16], [0; 16], bytes[36], 0, 0);
        tuple.source.copy_from_slice(&bytes[..16]);
        tuple.destination.copy_from_slice(&bytes[16..32]);
        tuple.source_port.copy_from_slice(&bytes[32..34]);
        tuple.destination_port.copy_from_slice(&bytes[34..36]);
        tuple.version = bytes[37];
        tuple
    }
}
