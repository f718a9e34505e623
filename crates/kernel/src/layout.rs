//! Layout of the maps that user space writes and programs read: plain data, the same bytes on both sides.

use anabranch_split::picks::Bounded;
use core::net::IpAddr;

/// Most members of a group.
pub const MEMBERS: usize = 64;
/// Slots of a table that stays in the first-level cache.
pub const SLOTS: usize = 1 << 12;
/// Slots of a large table.
pub const SLOTS_LARGE: usize = 1 << 16;
/// Most entries of a list of turns.
pub const TURNS: usize = 1024;
/// Plans of a group side by side: the one in force and the next.
pub const GENERATIONS: u32 = 2;
/// The map of the programs' only variable, the generation in force: section `.bss` of their objects.
pub const GENERATION: &str = ".bss";
/// Bytes of a group's name in NAMES, which user space alone reads; shorter ones end in zeros.
pub const NAME_BYTES: usize = 64;

/// Action on a packet that a member takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Output {
    /// It leaves by the interface of that number.
    Redirect = 0,
    /// Its DSCP (RFC 2474) becomes the value.
    Dscp = 1,
    /// Its IPv6 flow label (RFC 6437) becomes the value; IPv4 is left as it is.
    FlowLabel = 2,
    /// The source port of its outer UDP header becomes the value, if it is VXLAN or GENEVE (RFC 7348, 8926).
    TunnelPort = 3,
    /// It leaves by the interface of that number as a router forwards it, to the member's [`Gateway`].
    Route = 4,
}

/// Neighbour that a member's packets are sent to, where they are routed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Gateway {
    /// 4 or 6; 0 for none.
    pub version: u32,
    /// The address as it lies in a packet; of IPv4 the first word.
    pub address: [u32; 4],
}

impl Gateway {
    /// Of an address of either version.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        let (version, address) = words(address);
        Self { version: version.into(), address }
    }

    /// The address again, if there is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.version {
            4 => Some(IpAddr::V4(self.address[0].to_ne_bytes().into())),
            6 => {
                let mut bytes = [0; 16];
                for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.address) {
                    *place = word.to_ne_bytes();
                }
                Some(IpAddr::V6(bytes.into()))
            }
            _ => None,
        }
    }
}

/// Gateways of a plan's members, in GATEWAYS by the plan's number.
pub type Gateways = [Gateway; MEMBERS];

/// IP version of an address, and its words as they lie in a packet.
fn words(address: IpAddr) -> (u8, [u32; 4]) {
    match address {
        IpAddr::V4(address) => (4, [u32::from_ne_bytes(address.octets()), 0, 0, 0]),
        IpAddr::V6(address) => {
            let mut words = [0; 4];
            for (word, bytes) in words.iter_mut().zip(address.octets().as_chunks::<4>().0) {
                *word = u32::from_ne_bytes(*bytes);
            }
            (6, words)
        }
    }
}

/// Head of every plan, whatever its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Head {
    /// Bit m: member m can carry traffic.
    pub up: u64,
    /// The flowlet gap in nanoseconds. Other schemes have no use for it: the kernel's map of flows forgets by itself.
    pub pause_ns: u64,
    /// Seed of the hash (wyhash32) that makes a packet's key from its 5-tuple.
    pub seed: u32,
    /// [`Output`] as a number.
    pub output: u32,
    /// Targets by member: number of an interface, or value of the field.
    pub targets: [u32; MEMBERS],
    /// Desired weights by member. Programs do not read them; user space does, to compare plans.
    pub weights: [u32; MEMBERS],
}

/// A plan: a head that all have, and a body that the scheme reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Plan<B> {
    /// Head, the same for every scheme.
    pub head: Head,
    /// Body that the scheme reads.
    pub body: B,
}

/// Index of a group's plan in PLANS, and of its name in NAMES. Generations are neighbours, so
/// that programs need not know how many groups there are.
#[inline(always)]
#[must_use]
pub const fn plan_number(generation: u32, group: u32) -> u32 {
    group * GENERATIONS + generation
}

/// Members in turn, or each as often as it weighs.
pub type Turns = Bounded<u16, TURNS>;

/// Key of ROUTES, a trie of longest prefixes (LPM): the addresses of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Destination([u8; 20]);

impl Destination {
    /// Bits before the address, which every prefix has.
    pub const BITS_BEFORE: u32 = 32;
    /// Bits of a packet's own destination, whatever its family.
    pub const BITS: u32 = 8 * size_of::<Self>() as u32;

    /// An address of either family.
    #[must_use]
    pub fn new(generation: u32, address: IpAddr) -> Self {
        let (version, words) = words(address);
        Self::of(generation, version, words)
    }

    /// The generation it belongs to.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.0[0].into()
    }

    /// The address again.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        let [_, family, _, _, address @ ..] = self.0;
        let [a, b, c, d, ..] = address;
        if family == 4 { IpAddr::V4([a, b, c, d].into()) } else { IpAddr::V6(address.into()) }
    }

    /// An IPv4 address as it lies in a packet.
    #[inline(always)]
    #[must_use]
    pub fn v4(generation: u32, address: u32) -> Self {
        Self::of(generation, 4, [address, 0, 0, 0])
    }

    /// An IPv6 address as it lies in a packet.
    #[inline(always)]
    #[must_use]
    pub fn v6(generation: u32, address: [u32; 4]) -> Self {
        Self::of(generation, 6, address)
    }

    #[inline(always)]
    fn of(generation: u32, family: u8, [a, b, c, d]: [u32; 4]) -> Self {
        let words = [u32::from_ne_bytes([generation as u8, family, 0, 0]), a, b, c, d];
        let mut bytes = [0; 20];
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
        Self(bytes)
    }
}

/// Counters of a group's members, in COUNTERS by the group's number.
pub type Counters = [Counter; MEMBERS];

/// Packets and bytes of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counter {
    /// Packets on the wire: what a host hands over whole (GSO), or has put together (GRO), is one decision and goes one
    /// way, and counts as the segments it will be cut into. At XDP there are none such.
    pub packets: u64,
    /// Bytes from the link layer's header on; the segments of one packet share one header here.
    pub bytes: u64,
}
