//! `[transport]`: what end hosts do.

mod messages;
mod rdma;
mod uec;

use crate::section::kinds::{Kind, defaults, names};
use anabranch_fabric::Rate;
use anabranch_form::Form;
use anabranch_form::document::{Node, Value};
use anabranch_form::unit::{Bytes, Choice, Count, Flag, Positive, Refusal, Speed, Time, Unit, quoted};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{Control, Coupling, Mptcp, Reorder, Tcp, Transport, Udp};

const PS_PER_MS: u64 = 1_000_000_000;

/// Kinds of transport.
const DEFAULTS: [Kind<Transport>; 7] = [
    ("dctcp", || Transport::Tcp(tcp(Control::Dctcp { gain: 1.0 / 16.0 }))),
    ("newreno", || Transport::Tcp(tcp(Control::NewReno))),
    ("cubic", || Transport::Tcp(tcp(Control::Cubic { hystart: true }))),
    ("mptcp", || Transport::Mptcp(Mptcp { tcp: tcp(Control::NewReno), ..Mptcp::plain() })),
    ("udp", || Transport::Udp(Udp { rate: UDP_RATE, payload_bytes_max: None })),
    ("roce", || Transport::Roce(rdma::roce(rdma::CONTROLS[0]))),
    ("uec", || Transport::Uec(Uec::DEFAULT)),
];

/// Names of the kinds.
pub(crate) const KINDS: [&str; DEFAULTS.len()] = names(&DEFAULTS);

/// Couplings of MPTCP's windows.
const COUPLINGS: [&str; 2] = ["lia", "uncoupled"];

/// Transports that together have every key, each with its name on the reference page.
pub(crate) fn variants() -> Vec<(&'static str, Transport)> {
    let mut variants: Vec<(&'static str, Transport)> =
        DEFAULTS.map(|(kind, default)| (kind, default())).to_vec();
    for (name, control) in
        [("roce with timely", "timely"), ("roce with swift", "swift"), ("roce with hpcc", "hpcc")]
    {
        variants.push((name, Transport::Roce(rdma::roce(control))));
    }
    let selective = rdma::selective();
    variants.push(("roce, selective", Transport::Roce(selective)));
    variants.push(("roce, send", Transport::Roce(rdma::send())));
    variants.push(("uec with rccc", Transport::Uec(uec::with_credits())));
    variants
}

/// A transport of this kind with the defaults of every key.
pub(crate) fn of_kind(kind: &str) -> Transport {
    defaults(&DEFAULTS, kind)
}

fn tcp(control: Control) -> Tcp {
    Tcp {
        control,
        initial_window: 10,
        // Linux: the largest buffer it grows to by itself (net.ipv4.tcp_rmem).
        window_max_bytes: 6 << 20,
        sack: true,
        dup_ack_threshold: 3,
        rack: false,
        dsack: false,
        ack_every: 2,
        ack_delay_ps: PS_PER_MS,
        rto_min_ps: 5 * PS_PER_MS,
        rto_initial_ps: 5 * PS_PER_MS,
        rto_max_ps: 60_000 * PS_PER_MS,
        ecn: matches!(control, Control::Dctcp { .. }),
        handshake: true,
        persistent: false,
        reorder: Reorder::None,
        pace: None,
        payload_bytes_max: None,
    }
}

const UDP_RATE: Rate = match Rate::from_bps(1_000_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

fn kind_of(transport: &Transport) -> &'static str {
    match transport {
        Transport::Tcp(tcp) => match tcp.control {
            Control::Dctcp { .. } => "dctcp",
            Control::NewReno => "newreno",
            Control::Cubic { .. } => "cubic",
        },
        Transport::Mptcp(_) => "mptcp",
        Transport::Udp(_) => "udp",
        Transport::Roce(_) => "roce",
        Transport::Uec(_) => "uec",
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, transport: &mut Transport) {
    let mut kind = kind_of(transport);
    form.kind(
        "kind",
        Choice(&KINDS),
        &mut kind,
        "Congestion control: DCTCP (RFC 8257), NewReno (RFC 5681, 6582), CUBIC (RFC 9438); or MPTCP over several \
         connections of NewReno (RFC 6356, 8684); or UDP at a constant rate; or RoCE, with queue pairs for each flow; or the transport of Ultra Ethernet, whose packets may take any path.",
    );
    if kind != kind_of(transport) {
        *transport = of_kind(kind);
    }
    match transport {
        Transport::Tcp(tcp) => visit_tcp(form, tcp, true),
        Transport::Mptcp(mptcp) => {
            visit_subflows(form, mptcp);
            visit_tcp(form, &mut mptcp.tcp, false);
        }
        Transport::Roce(roce) => rdma::visit_roce(form, roce),
        Transport::Uec(settings) => uec::visit(form, settings),
        Transport::Udp(udp) => form.required(
            "rate",
            Speed,
            &mut udp.rate,
            "Rate of frames on the link, preamble and gap included; the host's own link bounds it.",
        ),
    }
}

fn visit_subflows(form: &mut impl Form, mptcp: &mut Mptcp) {
    let mut subflows = u32::from(mptcp.subflows);
    form.key(
        "subflows",
        Count { least: 1, most: 64 },
        &mut subflows,
        "Connections of a flow, each with a source port, and so perhaps a path, of its own (8: the evaluations of CONGA \
         and of HULA).",
    );
    mptcp.subflows = subflows as u8;
    let mut coupling = COUPLINGS[usize::from(mptcp.coupling == Coupling::Uncoupled)];
    form.key(
        "coupling",
        Choice(&COUPLINGS),
        &mut coupling,
        "How windows grow in congestion avoidance: linked, so that all together take one connection's share (RFC 6356); \
         or each by itself.",
    );
    mptcp.coupling = if coupling == COUPLINGS[0] { Coupling::Lia } else { Coupling::Uncoupled };
}

/// `persistent`: whether connections may be.
fn visit_tcp(form: &mut impl Form, tcp: &mut Tcp, persistent: bool) {
    match &mut tcp.control {
        Control::NewReno => {}
        Control::Cubic { hystart } => {
            form.key(
                "hystart",
                Flag,
                hystart,
                "Leave slow start when the delay rises or a round's acknowledgements come in a train, as Linux does since \
                 2021 (ns-3 leaves it earlier on round trips below 2 ms).",
            );
        }
        Control::Dctcp { gain } => form.key(
            "gain",
            Positive { most: 1.0 },
            gain,
            "Gain g of the moving average of marked bytes (RFC 8257 section 4.2).",
        ),
    }
    form.key(
        "initial_window",
        Count { least: 1, most: 1000 },
        &mut tcp.initial_window,
        "Initial window, in segments (RFC 6928).",
    );
    form.key(
        "window_max",
        Bytes { least: 1460, most: 1 << 30 },
        &mut tcp.window_max_bytes,
        "Largest window: the least of the sender's and the receiver's buffers.",
    );
    form.key(
        "sack",
        Flag,
        &mut tcp.sack,
        "Selective acknowledgement and recovery by it (RFC 2018, RFC 6675); without it NewReno's recovery.",
    );
    form.key(
        "dup_ack_threshold",
        Count { least: 1, most: 1000 },
        &mut tcp.dup_ack_threshold,
        "Duplicate acknowledgements that mean a loss (RFC 5681).",
    );
    form.key(
        "rack",
        Flag,
        &mut tcp.rack,
        "Detect losses by time (RFC 8985) instead of by the threshold alone.",
    );
    form.key(
        "dsack",
        Flag,
        &mut tcp.dsack,
        "Report segments that arrive twice (RFC 2883): the sender, which needs `rack`, then waits for longer (RFC 8985 \
         section 6.2.4), and takes a needless reduction of its window back, as Linux does.",
    );
    if tcp.dsack && !(tcp.rack && tcp.sack) {
        form.refuse(
            "dsack",
            "only a sender that detects losses by time learns of duplicates".to_owned(),
            "add rack = true, and leave sack as it is".to_owned(),
        );
    }
    form.key(
        "ack_every",
        Count { least: 1, most: 64 },
        &mut tcp.ack_every,
        "Segments per acknowledgement: 2 is RFC 5681's delayed acknowledgement, 1 acknowledges each.",
    );
    let rto_min_default_ps = tcp.rto_min_ps;
    form.key(
        "min_rto",
        Time,
        &mut tcp.rto_min_ps,
        "Least retransmission timeout. RFC 6298 says 1 s, Linux 200 ms, papers on datacenters 5 ms or 200 us.",
    );
    tcp.rto_initial_ps = tcp.rto_initial_ps.max(tcp.rto_min_ps);
    form.key(
        "initial_rto",
        Time,
        &mut tcp.rto_initial_ps,
        "Timeout before the first measurement; at least `min_rto`.",
    );
    tcp.rto_max_ps = tcp.rto_max_ps.max(tcp.rto_initial_ps);
    form.key("max_rto", Time, &mut tcp.rto_max_ps, "Largest timeout after back-off (RFC 6298 section 2.5).");
    // Only the default follows `min_rto`: a delay that was read before stays as it was when the text is written.
    if tcp.rto_min_ps != rto_min_default_ps {
        tcp.ack_delay_ps = tcp.ack_delay_ps.min(tcp.rto_min_ps / 2);
    }
    form.key(
        "ack_delay",
        Time,
        &mut tcp.ack_delay_ps,
        "Longest wait of a delayed acknowledgement; where it is not given, at most half of `min_rto`.",
    );
    if tcp.rto_min_ps == 0 {
        form.refuse(
            "min_rto",
            "`0 s` would time out at once".to_owned(),
            "give a time such as \"5 ms\"".to_owned(),
        );
    }
    if !(tcp.rto_min_ps <= tcp.rto_initial_ps && tcp.rto_initial_ps <= tcp.rto_max_ps) {
        let hint = "make min_rto <= initial_rto <= max_rto".to_owned();
        form.refuse("initial_rto", "it is not between min_rto and max_rto".to_owned(), hint);
    }
    form.key(
        "ecn",
        Flag,
        &mut tcp.ecn,
        "Packets may be marked instead of dropped (RFC 3168; DCTCP needs it).",
    );
    if matches!(tcp.control, Control::Dctcp { .. }) && !tcp.ecn {
        let hint = "set ecn = true, or kind = \"newreno\"".to_owned();
        form.refuse("ecn", "DCTCP without marks cannot work".to_owned(), hint);
    }
    form.key("handshake", Flag, &mut tcp.handshake, "A flow opens its connection by SYN and SYN-ACK.");
    if persistent {
        form.key(
            "persistent",
            Flag,
            &mut tcp.persistent,
            "Flows between two hosts use idle connections again, with the window they left.",
        );
    }
    form.key(
        "reorder",
        ReorderTable,
        &mut tcp.reorder,
        "What stands between the network and TCP at the receiver: nothing; a buffer that holds a gap open until it \
         fills, for at most `hold`; or Presto's, which holds only gaps at the borders of flowcells (so many bytes of \
         payload each), for twice as long as reordering took on average and at most `hold`.",
    );
}

/// Nothing, or a table of `hold` and perhaps `flowcell`.
struct ReorderTable;

impl ReorderTable {
    const NONE: &str = "none";
    const KEYS: [&str; 2] = ["hold", "flowcell"];
}

impl Unit for ReorderTable {
    type Value = Reorder;

    fn read(&self, node: &Node) -> Result<Reorder, Refusal> {
        let table = match &node.value {
            Value::Text(word) | Value::Bare(word) if word == Self::NONE => return Ok(Reorder::None),
            Value::Table(table) => table,
            _ => return Err(self.refuse_type(node)),
        };
        table.refuse_others(&Self::KEYS)?;
        let Some(hold) = table.get(Self::KEYS[0]) else { return Err(self.refuse(node, "`hold` is missing")) };
        let timeout_ps = Time.read(&hold.node)?;
        Ok(match table.get(Self::KEYS[1]) {
            None => Reorder::Hold { timeout_ps },
            Some(cell) => Reorder::Flowcell { cell_bytes: Bytes::SOME.read(&cell.node)?, timeout_ps },
        })
    }

    fn write(&self, value: &Reorder) -> String {
        match value {
            Reorder::None => quoted(Self::NONE),
            Reorder::Hold { timeout_ps } => format!("{{ hold = {} }}", Time.write(timeout_ps)),
            Reorder::Flowcell { cell_bytes, timeout_ps } => format!(
                "{{ hold = {}, flowcell = {} }}",
                Time.write(timeout_ps),
                Bytes::SOME.write(cell_bytes)
            ),
        }
    }

    fn wants(&self) -> String {
        "\"none\", { hold = \"50 us\" } or { hold = \"50 us\", flowcell = \"64 KiB\" }".to_owned()
    }
}
