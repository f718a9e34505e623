//! A weighted group as people give it: destinations, members, and the action on a packet.

use crate::error::KernelError;
use crate::layout::{Destination, Gateway, Gateways, Head, MEMBERS, NAME_BYTES, Output, TURNS};
use std::format;
use std::net::IpAddr;
use std::string::String;
use std::vec::Vec;

/// End of the list of targets.
pub(crate) const NO_TARGET: u32 = u32::MAX;

/// Destinations that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// Bits behind the first `bits` are zero.
    pub address: IpAddr,
    /// Number of bits that count.
    pub bits: u8,
}

/// One way out of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Number of an interface, or value of the field; see [`Output`].
    pub target: u32,
    /// 0 for a member that carries nothing.
    pub weight: u32,
    /// Whether it can carry traffic now.
    pub up: bool,
    /// Neighbour that packets are sent to, where they are routed, and only there.
    pub gateway: Option<IpAddr>,
}

/// A weighted group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name by which it is recognised when the plan is replaced.
    pub name: String,
    /// Destinations of its packets; empty for all destinations, in a datapath without routes only.
    pub prefixes: Vec<Prefix>,
    /// Ways out; the number of a member is its index here.
    pub members: Vec<Member>,
    /// Action on a packet.
    pub output: Output,
    /// Seed of the hash. Each switch needs one of its own, or two stages polarise.
    pub seed: u32,
    /// The flowlet gap, or the silence after which a flow's counter is forgotten, in nanoseconds.
    pub pause_ns: u64,
    /// Members in turn, for the schemes that have turns; empty for those that follow from the weights.
    pub turns: Vec<u16>,
    /// Weights are factors of scores as they are, as Open vSwitch takes them, and not shares ([`crate::Object::Score`]).
    pub plain: bool,
}

impl Prefix {
    /// Reads an address and its number of bits around a slash.
    ///
    /// # Errors
    /// Not an address and a number of bits, or bits behind the prefix.
    pub fn parse(text: &str) -> Result<Self, KernelError> {
        let wrong = |why: &str| KernelError::new(format!("prefix {text}"), why);
        let (address, bits) = text.split_once('/').ok_or_else(|| wrong("write it as 10.0.2.0/24"))?;
        let address: IpAddr = address.parse().map_err(|_| wrong("write it as 10.0.2.0/24 or fd00:2::/64"))?;
        let bits: u8 = bits.parse().map_err(|_| wrong("write it as 10.0.2.0/24"))?;
        let (value, width) = match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128),
        };
        if bits > width {
            return Err(wrong("has more bits than the address"));
        }
        if value.checked_shl(bits.into()).unwrap_or(0) != 0 {
            return Err(wrong("has bits set behind its length"));
        }
        Ok(Self { address, bits })
    }

    /// Key in the kernel's routes, and its number of bits that count.
    #[must_use]
    pub fn destination(&self, generation: u32) -> (u32, Destination) {
        (Destination::BITS_BEFORE + u32::from(self.bits), Destination::new(generation, self.address))
    }

    /// Back from there.
    #[must_use]
    pub fn of_destination(bits: u32, destination: Destination) -> Self {
        Self { address: destination.address(), bits: bits.saturating_sub(Destination::BITS_BEFORE) as u8 }
    }
}

impl core::fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

impl Group {
    /// Refuses what no program can carry.
    ///
    /// # Errors
    /// Names the group, the value and the hint.
    pub fn check(&self) -> Result<(), KernelError> {
        let refuse = |why: String| Err(KernelError::new(format!("group {}", self.name), why));
        let count = self.members.len();
        if self.name.is_empty() || self.name.len() > NAME_BYTES || self.name.contains('\0') {
            return refuse(format!("a name has 1 to {NAME_BYTES} bytes, none of them zero"));
        }
        if count == 0 || count > MEMBERS {
            return refuse(format!("{count} members: the kernel's programs take 1 to {MEMBERS}"));
        }
        if self.members.iter().all(|member| member.weight == 0) {
            return refuse("no member has a weight above 0".into());
        }
        if self.turns.len() > TURNS {
            return refuse(format!("{} turns: the kernel's programs take {TURNS}", self.turns.len()));
        }
        if let Some(turn) = self.turns.iter().find(|&&turn| usize::from(turn) >= count) {
            return refuse(format!("turn {turn}: there are {count} members, from 0"));
        }
        let most = self.output.target_max();
        if let Some(member) = self.members.iter().find(|member| member.target > most) {
            return refuse(format!("target {}: at most {most}", member.target));
        }
        let routes = self.output == Output::Route;
        if let Some(place) = self.members.iter().position(|member| member.gateway.is_some() != routes) {
            let why =
                if routes { "no gateway; routed packets need one" } else { "a gateway; no packet is routed" };
            return refuse(format!("member {place}: {why}"));
        }
        // IPv4 packets may have a neighbour of IPv6 (RFC 8950), but not the other way round.
        let v6 = self.prefixes.iter().find(|prefix| prefix.address.is_ipv6());
        let v4 = self.members.iter().filter_map(|member| member.gateway).find(IpAddr::is_ipv4);
        if let Some((prefix, gateway)) = v6.zip(v4) {
            return refuse(format!("prefix {prefix}: gateway {gateway} takes IPv4 alone; give one of IPv6"));
        }
        Ok(())
    }

    /// Gateways of its members, which programs read where packets are routed.
    #[must_use]
    pub fn gateways(&self) -> Gateways {
        let mut gateways = [Gateway::default(); MEMBERS];
        for (place, member) in gateways.iter_mut().zip(&self.members) {
            *place = member.gateway.map(Gateway::new).unwrap_or_default();
        }
        gateways
    }

    /// Head of its plan, which all programs read.
    #[must_use]
    pub fn head(&self) -> Head {
        let mut head = Head {
            up: 0,
            pause_ns: self.pause_ns,
            seed: self.seed,
            output: self.output as u32,
            targets: [NO_TARGET; MEMBERS],
            weights: [0; MEMBERS],
        };
        for (place, member) in self.members.iter().enumerate() {
            head.targets[place] = member.target;
            head.weights[place] = member.weight;
            head.up |= u64::from(member.up && member.weight > 0) << place;
        }
        head
    }

    /// Weight of each member while only the living carry something; all zero if none lives.
    #[must_use]
    pub fn living(&self) -> Vec<u64> {
        self.members.iter().map(|member| if member.up { member.weight.into() } else { 0 }).collect()
    }
}

impl Output {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Redirect, Self::Dscp, Self::FlowLabel, Self::TunnelPort, Self::Route];

    /// Name in plans and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redirect => "redirect",
            Self::Dscp => "dscp",
            Self::FlowLabel => "flow-label",
            Self::TunnelPort => "tunnel-port",
            Self::Route => "route",
        }
    }

    /// The largest value of the field; 6 bits of DSCP, 20 of the flow label, 16 of a port.
    #[must_use]
    pub const fn target_max(self) -> u32 {
        match self {
            Self::Redirect | Self::Route => i32::MAX as u32,
            Self::Dscp => (1 << 6) - 1,
            Self::FlowLabel => (1 << 20) - 1,
            Self::TunnelPort => (1 << 16) - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn prefixes_are_read_and_written() {
        for text in ["10.0.2.0/24", "0.0.0.0/0", "10.1.2.3/32", "fd00:2::/64", "::/0", "fd00::1/128"] {
            let prefix = Prefix::parse(text).unwrap();
            assert_eq!(prefix.to_string(), text);
            let (bits, destination) = prefix.destination(1);
            assert_eq!((destination.generation(), Prefix::of_destination(bits, destination)), (1, prefix));
        }
        for text in ["10.0.2.1/24", "10.0.2.0", "10.0.2.0/33", "x/8", "fd00::1/64", "10.0.0.0/-1"] {
            assert!(Prefix::parse(text).unwrap_err().to_string().contains(text));
        }
    }
}
