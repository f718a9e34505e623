//! Hypervisors that choose paths by what the hypervisor at the other end relays.

use crate::hosts::ends::{Ends, Half};
use crate::hosts::few_paths::{Few, FewPaths, Fork};
use crate::hosts::host_env::HostStreams;
use crate::hosts::pairs::Pairs;
use crate::hosts::per_connection::PerConnection;
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{Address, Framing, HostBalancer, Network, Opened, Packet, SimulationError, marks};
use anabranch_split::picks;
use anabranch_split::picks::relay::{PATHS, Relay, Tag};

/// Differences between schemes that relay news; a value serves the hosts of two leaves.
pub(crate) trait Relayed {
    /// State of the paths to one destination.
    type State;
    /// State of one flow.
    type Flow: Default;
    /// Knowledge of the receiving end about one path.
    type News: Copy + Default;

    /// Nothing known of so many paths.
    fn state(&self, paths: usize) -> Self::State;

    /// Whether packets must be capable of marks.
    fn by_marks(&self) -> bool;

    /// The path of a packet.
    fn pick(
        &self,
        state: &mut Self::State,
        flow: &mut Self::Flow,
        asked: &mut picks::Packet,
        env: &mut Fork<'_>,
    ) -> u16;

    /// Updates the knowledge of a path by a packet that arrived over it; nothing if it is no news.
    fn hear(&self, known: Self::News, packet: &Packet) -> Option<Self::News>;

    /// News as they travel: [`picks::relay::NEWS_BITS`] bits.
    fn written(&self, news: Self::News) -> u32;

    /// News of a path came back.
    fn learn(&self, state: &mut Self::State, path: u16, news: u32, env: &mut Fork<'_>);

    /// A path died or came back.
    fn changed(&self, state: &mut Self::State, path: u16, env: &mut Fork<'_>);
}

/// One host towards another.
struct End<R: Relayed> {
    host: u32,
    /// Pair of leaves, as [`FewPaths::pair`] numbers them.
    pair: u32,
    state: R::State,
    /// News that came from the other host.
    relay: Relay<R::News, [R::News; PATHS]>,
}

/// The scheme between every two leaves, with the clocks of the paths between them; made when first asked for.
struct Schemes<R> {
    make: Box<dyn Fn(u64) -> R>,
    framing: Framing,
    by_pair: Vec<Option<R>>,
}

impl<R> Schemes<R> {
    #[inline(always)]
    fn of(&mut self, pair: u32, paths: &mut FewPaths) -> &R {
        self.by_pair[pair as usize]
            .get_or_insert_with(|| (self.make)(paths.round_trip_ns(pair, self.framing)))
    }
}

/// All hosts.
pub(crate) struct RelayedHosts<R: Relayed> {
    schemes: Schemes<R>,
    paths: FewPaths,
    ends: Pairs<End<R>>,
    flows: PerConnection<Ends<R::Flow>>,
    streams: HostStreams,
}

impl<R: Relayed> RelayedHosts<R> {
    /// `make` gives the scheme for a round trip of so many nanoseconds while nothing is in the way.
    pub(crate) fn new(
        make: impl Fn(u64) -> R + 'static,
        fabric: &Fabric,
        framing: Framing,
        seed: u64,
    ) -> Result<Self, SimulationError> {
        let paths = FewPaths::new(fabric)?;
        let pairs = (paths.leaves() * paths.leaves()) as usize;
        let by_pair = std::iter::repeat_with(|| None).take(pairs).collect();
        Ok(Self {
            schemes: Schemes { make: Box::new(make), framing, by_pair },
            paths,
            ends: Pairs::default(),
            flows: PerConnection::default(),
            streams: HostStreams::new(fabric.hosts(), seed),
        })
    }
}

/// The end of `host` towards `peer`, behind another leaf by `few` paths.
#[inline(always)]
fn end<'a, R: Relayed>(
    ends: &'a mut Pairs<End<R>>,
    half: &mut Half<R::Flow>,
    scheme: &R,
    (host, peer): (u32, u32),
    (pair, few): (u32, &Few),
) -> Option<&'a mut End<R>> {
    let new = || End {
        host,
        pair,
        state: scheme.state(few.labels.len()),
        relay: Relay::new([R::News::default(); PATHS]),
    };
    let number = half.pair(|| ends.number(host, peer, new));
    ends.get(number)
}

impl<R: Relayed> HostBalancer for RelayedHosts<R> {
    fn opened(&mut self, _host: u32, flow: &Opened, _network: &mut Network) {
        if flow.fresh {
            self.flows.open(flow.connection, || Ends::of(flow));
        }
    }

    #[inline]
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        let Some(pair) = self.paths.pair(from.host, from.destination) else { return };
        let scheme = self.schemes.of(pair, &mut self.paths);
        let few = self.paths.few(pair);
        let Some(flow) = self.flows.get(from.connection) else { return };
        if few.alive == 0 {
            return;
        }
        let half = flow.at(from.host);
        let ends = (from.host, from.destination);
        let Some(end) = end(&mut self.ends, half, scheme, ends, (pair, few)) else { return };
        let mut env = Fork { host: self.streams.at(from.host, network), alive: few.alive };
        let mut asked = picks::Packet {
            flow: u64::from(from.connection) << 32 | u64::from(from.entropy),
            bytes: u32::from(packet.frame_bytes),
            cell: (packet.seq / u64::from(picks::Flowcell::BYTES)) as u32,
            ..picks::Packet::default()
        };
        let path = scheme.pick(&mut end.state, &mut half.kept, &mut asked, &mut env);
        let Some(&labels) = few.labels.get(usize::from(path)) else { return };
        packet.labels = labels;
        packet.marks |= marks::LABELLED;
        let mut tag = Tag::new(path);
        if let Some((about, news)) = end.relay.next_news() {
            tag = tag.with_news(about, scheme.written(news));
        }
        if scheme.by_marks() && packet.payload_bytes > 0 && packet.marks & marks::CAPABLE == 0 {
            packet.marks |= marks::CAPABLE;
            tag = tag.with_own_ecn();
        }
        packet.tag = tag.0;
    }

    #[inline]
    fn receive(&mut self, host: u32, packet: &mut Packet, network: &mut Network) {
        let tag = Tag(packet.tag);
        let Some(path) = tag.path() else { return };
        let Some(ends) = self.flows.get(packet.connection) else { return };
        let peer = ends.peer(host);
        let Some(pair) = self.paths.pair(host, peer) else { return };
        let scheme = self.schemes.of(pair, &mut self.paths);
        let few = self.paths.few(pair);
        let half = ends.at(host);
        let Some(end) = end(&mut self.ends, half, scheme, (host, peer), (pair, few)) else { return };
        end.relay.hear(path, |known| scheme.hear(known, packet));
        if tag.own_ecn() {
            packet.marks &= !(marks::CAPABLE | marks::EXPERIENCED);
        }
        if let Some((about, news)) = tag.news() {
            let mut env = Fork { host: self.streams.at(host, network), alive: few.alive };
            scheme.learn(&mut end.state, about, news, &mut env);
        }
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        let changed = self.paths.learn(links);
        for end in self.ends.iter_mut() {
            let scheme = self.schemes.of(end.pair, &mut self.paths);
            let alive = self.paths.few(end.pair).alive;
            let mut env = Fork { host: self.streams.at(end.host, network), alive };
            for path in (0..PATHS as u16).filter(|path| changed[end.pair as usize] >> path & 1 != 0) {
                scheme.changed(&mut end.state, path, &mut env);
            }
        }
    }
}
