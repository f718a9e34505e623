//! Nodes and ports of a fabric.

use crate::{Rate, Servers, SwitchSettings};

/// Largest number of ports of a node: members of a group are numbered in 16 bits.
const PORTS_MAX: usize = 65_535;

/// Kind of a node by its distance from the hosts. Paths go up the tiers and down again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Host.
    Host,
    /// Switch within a server that joins its accelerators (scale-up); it leads nowhere else.
    Server,
    /// Network card with several ports.
    Nic,
    /// Switch with hosts: leaf, edge, top of rack.
    Leaf,
    /// Switch above the leaves of a pod, in a fabric of three tiers.
    Aggregation,
    /// Switch of the top tier: spine or core.
    Spine,
}

/// Host or switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name, unique in the fabric: `host3`, `leaf1`, `spine0`, `agg2.1`, `core5`.
    pub name: String,
    /// Distance from the hosts.
    pub tier: Tier,
    /// Pod of the node, in fabrics that have pods.
    pub pod: Option<u32>,
}

/// Room for waiting frames at a port, the frame in service included. A frame that fits neither limit is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Largest sum of waiting frames in bytes, without preamble and gap.
    pub bytes: u32,
    /// Largest number of waiting frames.
    pub packets: u32,
}

impl Buffer {
    /// Buffer that is never full.
    pub const UNLIMITED: Self = Self { bytes: u32::MAX, packets: u32::MAX };
}

/// Rule by which a port marks packets that can be marked (ECN, RFC 3168). It is applied when a packet is enqueued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marking {
    /// Marks nothing.
    Off,
    /// DCTCP's step (RFC 8257 section 3.1): mark if the backlog before this packet has reached either limit.
    Step {
        /// Limit in bytes.
        bytes: u32,
        /// Limit in packets.
        packets: u32,
    },
    /// RED (Floyd and Jacobson 1993) on the instantaneous backlog in bytes: probability 0 up to `low_bytes`, rising
    /// linearly to `probability` at `high_bytes`, 1 beyond.
    Ramp {
        /// Backlog below which nothing is marked, in bytes.
        low_bytes: u32,
        /// Backlog from which everything is marked, in bytes.
        high_bytes: u32,
        /// Probability just below `high_bytes`.
        probability: f64,
    },
}

/// Sending end of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// Port of the other direction of the link.
    pub reverse: u32,
    /// Rate at which frames leave.
    pub rate: Rate,
    /// Propagation delay of the link, in picoseconds.
    pub delay_ps: u64,
    /// Cost of the link to routing, 1 or more: next hops are those of least sum.
    pub cost: u32,
    /// Room for waiting frames.
    pub buffer: Buffer,
    /// Rule by which frames are marked.
    pub marking: Marking,
}

/// Fabric of nodes and ports. Nodes `0..hosts` are hosts, each with exactly one link.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    nodes: Vec<Node>,
    ports: Vec<Port>,
    hosts: u32,
    switches: Option<SwitchSettings>,
    servers: Option<Servers>,
    /// Ports of each node, ascending: `ports_of[first_port[n]..first_port[n + 1]]`.
    ports_of: Vec<u32>,
    first_port: Vec<u32>,
}

/// Reason why nodes and ports form no fabric, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}; {hint}", .key.map_or(String::new(), |key| format!("{key}: ")))]
pub struct FabricError {
    /// Setting at fault, as scenarios name it; nothing where it is none alone.
    pub key: Option<&'static str>,
    /// Its value, and what is wrong with it.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

impl FabricError {
    /// Joins the parts of an error.
    pub fn new(
        key: impl Into<Option<&'static str>>,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), problem: problem.into(), hint: hint.into() }
    }
}

/// Refuses two nodes with the same name.
pub(crate) fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), FabricError> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(FabricError::new(
            None,
            format!("node {}: two nodes have this name", pair[0]),
            "give every node a name of its own",
        )),
    }
}

impl Fabric {
    /// Checks that hosts come first, that each host has exactly one link, which leads to a switch, that no switch has
    /// more than 65,535 ports, that ports pair up, and that names are unique.
    ///
    /// # Errors
    /// Names the first broken rule and the node that breaks it.
    pub fn new(nodes: Vec<Node>, ports: Vec<Port>) -> Result<Self, FabricError> {
        let hosts = nodes.iter().take_while(|node| node.tier == Tier::Host).count() as u32;
        if let Some(late) = nodes[hosts as usize..].iter().find(|node| node.tier == Tier::Host) {
            return Err(FabricError::new(
                None,
                format!("node {}: a host after the first switch", late.name),
                "list all hosts before the switches",
            ));
        }
        unique_names(nodes.iter().map(|node| node.name.as_str()))?;
        let mut first_port = vec![0u32; nodes.len() + 1];
        for (index, port) in ports.iter().enumerate() {
            let back = ports.get(port.reverse as usize);
            let paired = back.is_some_and(|back| {
                back.reverse as usize == index && back.from == port.to && back.to == port.from
            });
            if !paired || port.from as usize >= nodes.len() || port.from == port.to {
                return Err(FabricError::new(
                    None,
                    format!("port {index}: it is not one of two directions of a link between two nodes"),
                    "give every link two ports that name each other",
                ));
            }
            first_port[port.from as usize + 1] += 1;
        }
        for node in 0..nodes.len() {
            first_port[node + 1] += first_port[node];
        }
        let (mut ports_of, mut next) = (vec![0; ports.len()], first_port.clone());
        for (index, port) in (0..).zip(&ports) {
            ports_of[next[port.from as usize] as usize] = index;
            next[port.from as usize] += 1;
        }
        let fabric = Self { nodes, ports, hosts, switches: None, servers: None, ports_of, first_port };
        for (node, Node { name, .. }) in (0..).zip(&fabric.nodes) {
            let links = fabric.ports_of(node).len();
            let problem = if links > PORTS_MAX {
                format!("switch {name}: it has {links} ports")
            } else if node < hosts && links != 1 {
                format!("host {name}: it has {links} links")
            } else if node < hosts && fabric.leaf_of(node) < hosts {
                format!("host {name}: its link leads to a host")
            } else {
                continue;
            };
            return Err(FabricError::new(
                None,
                problem,
                format!("give every host exactly one link, to a switch, and no switch over {PORTS_MAX}"),
            ));
        }
        Ok(fabric)
    }

    /// Sets the buffer and the marking of every host's own port.
    pub fn set_host_queues(&mut self, buffer: Buffer, marking: Marking) {
        for port in self.ports.iter_mut().filter(|port| port.from < self.hosts) {
            (port.buffer, port.marking) = (buffer, marking);
        }
    }

    /// Gives all ports classes of traffic, or makes them FIFOs again.
    pub fn set_switches(&mut self, switches: Option<SwitchSettings>) {
        self.switches = switches;
    }

    /// Classes of traffic and their treatment; `None` if ports are FIFOs.
    #[must_use]
    pub fn switches(&self) -> Option<&SwitchSettings> {
        self.switches.as_ref()
    }

    /// The same fabric with servers, whose accelerators are its hosts, each twice.
    pub(crate) fn with_servers(self, servers: Servers) -> Self {
        Self { servers: Some(servers), ..self }
    }

    /// Servers with scale-up switches; `None` if hosts are single.
    #[must_use]
    pub fn servers(&self) -> Option<&Servers> {
        self.servers.as_ref()
    }

    /// Number of hosts that traffic may name: all, but for the scale-up ports of servers.
    #[must_use]
    pub fn named_hosts(&self) -> u32 {
        self.servers.as_ref().map_or(self.hosts, Servers::named_hosts)
    }

    /// All nodes, hosts first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All ports.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Number of hosts; they are the nodes `0..hosts`.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The ports of a node, ascending.
    #[must_use]
    pub fn ports_of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.ports_of[self.first_port[node] as usize..self.first_port[node + 1] as usize]
    }

    /// The switch a host hangs on.
    #[must_use]
    pub fn leaf_of(&self, host: u32) -> u32 {
        self.ports[self.ports_of(host)[0] as usize].to
    }

    /// Switches with hosts, network cards among them, ascending.
    #[must_use]
    pub fn leaves(&self) -> Vec<u32> {
        let mut leaves: Vec<u32> = (0..self.hosts).map(|host| self.leaf_of(host)).collect();
        leaves.sort_unstable();
        leaves.dedup();
        leaves
    }
}
