//! Decisions of ARS; its rule and where it differs from the specification stand on `page.md`.

use crate::ars::load::{BEST, Profile};
use anabranch_split::picks::least::Least;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// How a member is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The best of the qualities for each flowlet.
    FlowletQuality,
    /// A random one for each flowlet.
    FlowletRandom,
    /// The best of the qualities for each packet.
    PacketQuality,
    /// A random one for each packet.
    PacketRandom,
    /// The best of the qualities for each flow, once.
    Fixed,
}

impl Mode {
    /// All of them, in the order of SAI.
    pub const ALL: [Self; 5] =
        [Self::FlowletQuality, Self::FlowletRandom, Self::PacketQuality, Self::PacketRandom, Self::Fixed];

    /// Its name in keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FlowletQuality => "flowlet-quality",
            Self::FlowletRandom => "flowlet-random",
            Self::PacketQuality => "packet-quality",
            Self::PacketRandom => "packet-random",
            Self::Fixed => "fixed",
        }
    }

    /// Whether it asks for qualities.
    #[must_use]
    pub const fn measures(self) -> bool {
        !matches!(self, Self::FlowletRandom | Self::PacketRandom)
    }
}

/// Parameters of ARS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// How a member is assigned.
    pub mode: Mode,
    /// Longest pause within a flowlet, in nanoseconds.
    pub idle_ns: u64,
    /// Entries of a group's table of flows, which flows share by their hash; zero: one for each flow.
    pub flows: u32,
    /// How qualities are computed.
    pub profile: Profile,
}

impl Default for Parameters {
    /// Defaults of SAI.
    fn default() -> Self {
        Self { mode: Mode::FlowletQuality, idle_ns: 256_000, flows: 512, profile: Profile::default() }
    }
}

/// Qualities of the members towards a destination.
pub trait Qualities {
    /// Number of members, living or not.
    fn members(&self) -> u16;

    /// Band of a member, at most [`BEST`].
    fn band(&self, member: u16, destination: u32) -> u8;
}

/// Pick of a member of the best band, ties at random.
pub struct Best<Q: ?Sized>(PhantomData<Q>);

impl<Q: Qualities + ?Sized> Pick for Best<Q> {
    const NAME: &'static str = "ars";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM | capability::TIMER;
    type Plan = Q;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(qualities: &Q, _state: &mut (), packet: &mut Packet, env: &mut E) -> u16 {
        of_least(
            qualities.members(),
            |member| BEST - qualities.band(member, packet.destination).min(BEST),
            env,
        )
    }
}

/// Pick of any living member, all alike.
pub struct Any<Q: ?Sized>(PhantomData<Q>);

impl<Q: Qualities + ?Sized> Pick for Any<Q> {
    const NAME: &'static str = "ars-random";
    const NEEDS: u32 = capability::RANDOM;
    type Plan = Q;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(qualities: &Q, _state: &mut (), _packet: &mut Packet, env: &mut E) -> u16 {
        of_least(qualities.members(), |_| 0, env)
    }
}

#[inline(always)]
fn of_least<E: Env>(members: u16, key: impl Fn(u16) -> u8, env: &mut E) -> u16 {
    let mut least = Least::default();
    for member in 0..members {
        if env.up(member) {
            least.offer(member, key(member), env);
        }
    }
    least.member().unwrap_or(0)
}
