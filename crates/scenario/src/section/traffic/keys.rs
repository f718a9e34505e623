//! The keys of `[[traffic]]`.

use crate::file;
use crate::section::traffic::pattern::PatternUnit;
use crate::section::traffic::sizes::SizeUnit;
use crate::section::traffic::{
    Amount, Demand, JOBS_PER_S, KINDS, Rate, SizeSource, SizesSetting, Traffic, Training,
};
use crate::section::{framing, transport};
use anabranch_fabric::capacity::Reference;
use anabranch_form::Form;
use anabranch_form::unit::{self, Bytes, Capacity, Choice, Count, OneOrMore, Positive, Speed, Time, Whole};
use anabranch_sim::transport::Transport;
use anabranch_traffic::sizes::Convention;
use anabranch_traffic::workload::JobRate;
use anabranch_traffic::{Pattern, load};

const CONVENTIONS: [&str; 2] = ["linear", "step"];
const REFERENCES: [&str; 3] = ["uplink", "host", "bisection"];
const HOST: Count = Count { least: 0, most: u32::MAX };
/// Most flows or jobs: half of what their numbers hold.
const MOST: u64 = (u32::MAX / 2) as u64;
const LOAD: unit::Load = unit::Load { most: 10.0, unbounded: "flows_per_s" };
const PER_SECOND: Positive = Positive { most: 1e12 };

/// Shows them.
pub(crate) fn visit(form: &mut impl Form, traffic: &mut Traffic) {
    let mut kind = traffic.kind();
    form.kind(
        "kind",
        Choice(&KINDS),
        &mut kind,
        "Flows that arrive at random times; one flow from every sender at once; many servers that answer one client \
         at once; distributed training by a ring all-reduce or parameter servers (surrogates: no real job's timing \
         is behind them); a graph of messages and computing with dependencies, as a collective or from a file; a list of flows; the connections of a capture.",
    );
    if kind != traffic.kind() {
        *traffic = Traffic::of_kind(kind);
    }
    match &mut traffic.demand {
        Demand::Poisson { pattern, sizes, rate, amount } => {
            visit_pattern(form, pattern, sizes);
            visit_rate(form, rate);
            visit_amount(form, "flows", amount);
        }
        Demand::Once { pattern, sizes } => visit_pattern(form, pattern, sizes),
        Demand::Incast { servers, response_bytes, rate, clients, amount } => {
            let many = Count { least: 1, most: u32::MAX };
            form.key("servers", many, servers, "Servers of each job, drawn anew for each.");
            form.key("response", Bytes::SOME, response_bytes, "What each server sends.");
            visit_job_rate(form, rate);
            let asking = "Hosts that ask, by number; any host where the list is empty.";
            form.key("clients", OneOrMore(HOST), clients, asking);
            visit_amount(form, "jobs", amount);
        }
        Demand::RingAllReduce { workers, training } => {
            form.required("workers", OneOrMore(HOST), workers, "The ring of hosts, by number, in order.");
            visit_training(form, training);
        }
        Demand::ParameterServer { workers, servers, training } => {
            form.required("workers", OneOrMore(HOST), workers, "Hosts that compute, by number.");
            form.required("servers", OneOrMore(HOST), servers, "Hosts that hold the parameters, by number.");
            visit_training(form, training);
        }
        Demand::Graph(work) => super::work::visit(form, work),
        Demand::FlowList(file) => file::visit(
            form,
            file,
            "CSV with the columns `id,src,dst,size_bytes,start_ns` and perhaps `path`, and no others; hosts by \
             their numbers, as `anabranch show` lists them, or by their names.",
        ),
        Demand::Capture(file) => file::visit(
            form,
            file,
            "pcap or pcapng: one flow per direction of a connection; addresses are dealt to the leaves in turn.",
        ),
    }
    form.key("start", Time, &mut traffic.start_ps, "When it begins; a list's own times count from here.");
    visit_application(form, traffic);
    visit_transport(form, &mut traffic.transport);
    form.origin(&mut traffic.origin);
}

fn visit_pattern(form: &mut impl Form, pattern: &mut Pattern, sizes: &mut SizesSetting) {
    form.key(
        "pattern",
        PatternUnit,
        pattern,
        "Who sends to whom. Racks are the hosts of a leaf; `permutation` is a random cycle through all hosts; \
         `stride` sends to the host so many numbers further; `into_pod` from all other pods into one; `pairs` from \
         host to host.",
    );
    form.key(
        "sizes",
        SizeUnit,
        &mut sizes.source,
        "Payload of flows: a published distribution (`anabranch run` prints its mean), one size, sizes between two, \
         or a file with the columns `size_bytes,cdf`.",
    );
    if matches!(sizes.source, SizeSource::Published(_) | SizeSource::File(_)) {
        let mut convention = sizes.convention.name();
        form.key(
            "convention",
            Choice(&CONVENTIONS),
            &mut convention,
            "How a size is drawn between two knots of its distribution: evenly, or always the upper one. The mean, hence \
             the rate of flows at a load, differs by up to 1.9 times.",
        );
        sizes.convention = if convention == CONVENTIONS[0] { Convention::Linear } else { Convention::Step };
    }
}

fn visit_job_rate(form: &mut impl Form, rate: &mut JobRate) {
    let (mut load, mut jobs_per_s) = match *rate {
        JobRate::Load(fraction) => (Some(fraction), None),
        JobRate::PerSecond(jobs) => (None, Some(jobs)),
    };
    let unbounded = unit::Load { unbounded: "jobs_per_s", ..LOAD };
    form.optional(
        "load",
        unbounded,
        &mut load,
        "Instead of jobs a second: payload offered, as a part of what the links of all hosts that may ask carry.",
    );
    match load {
        Some(fraction) => *rate = JobRate::Load(fraction),
        None => {
            let jobs = jobs_per_s.get_or_insert(JOBS_PER_S);
            form.key("jobs_per_s", PER_SECOND, jobs, "Jobs a second; they arrive at random times.");
            *rate = JobRate::PerSecond(*jobs);
        }
    }
}

fn visit_rate(form: &mut impl Form, rate: &mut Option<Rate>) {
    let (mut load, mut per_second) = (None, None);
    let (mut of, mut capacity) = (REFERENCES[0], None);
    match *rate {
        None => {}
        Some(Rate::PerSecond(flows)) => per_second = Some(flows),
        Some(Rate::Load { fraction, reference, capacity_bps }) => {
            load = Some(fraction);
            of = load::name(reference);
            capacity = capacity_bps;
        }
    }
    form.optional(
        "load",
        LOAD,
        &mut load,
        "Payload offered, as a part of the reference capacity. Headers come on top.",
    );
    form.optional(
        "flows_per_s",
        PER_SECOND,
        &mut per_second,
        "Instead of a load: flows a second, all senders together.",
    );
    if per_second.is_none() {
        form.key(
            "reference",
            Choice(&REFERENCES),
            &mut of,
            "What the load is a part of: the leaves' links upwards, the links of hosts, or the largest flow between the \
             halves of the leaves. Only traffic that passes there counts.",
        );
        form.optional(
            "capacity",
            Capacity,
            &mut capacity,
            "The reference capacity, where it is not that of the fabric as built: what a failure leaves, for example.",
        );
    }
    let reference = match of {
        "host" => Reference::Host,
        "bisection" => Reference::Bisection,
        _ => Reference::Uplink,
    };
    *rate = match (load, per_second) {
        (Some(fraction), None) => Some(Rate::Load { fraction, reference, capacity_bps: capacity }),
        (None, Some(flows)) => Some(Rate::PerSecond(flows)),
        (given, _) => {
            let problem = if given.is_some() {
                "`load` and `flows_per_s` both say how often flows arrive"
            } else {
                "it is not said how often flows arrive"
            };
            return form.refuse("", problem.to_owned(), "give one of `load` and `flows_per_s`".to_owned());
        }
    };
}

/// `count` is the key of the number of arrivals.
fn visit_amount(form: &mut impl Form, count: &'static str, amount: &mut Option<Amount>) {
    let (mut number, mut duration_ps) = match *amount {
        None => (None, None),
        Some(Amount::Count(number)) => (Some(number), None),
        Some(Amount::Duration(duration_ps)) => (None, Some(duration_ps)),
    };
    form.optional("duration", Time, &mut duration_ps, "Arrivals end after so long.");
    form.optional(
        count,
        Whole { least: 1, most: MOST },
        &mut number,
        "Arrivals end after so many; instead of a duration.",
    );
    match (number, duration_ps) {
        (Some(number), None) => *amount = Some(Amount::Count(number)),
        (None, Some(duration_ps)) => *amount = Some(Amount::Duration(duration_ps)),
        (given, _) => {
            let problem = if given.is_some() {
                format!("`duration` and `{count}` both say how many arrive")
            } else {
                "it is not said how many arrive".to_owned()
            };
            form.refuse("", problem, format!("give one of `duration` and `{count}`"));
        }
    }
}

fn visit_training(form: &mut impl Form, training: &mut Training) {
    form.key("size", Bytes::SOME, &mut training.size_bytes, "All parameters.");
    let often = Count { least: 1, most: 1_000_000 };
    form.key("iterations", often, &mut training.iterations, "How many times, each after the one before.");
    form.key("compute", Time, &mut training.compute_ps, "Computing between two iterations.");
}

fn visit_application(form: &mut impl Form, traffic: &mut Traffic) {
    form.optional(
        "rate",
        Speed,
        &mut traffic.rate,
        "Rate at which the application of each flow writes its payload: a token bucket before the congestion window, \
         whose unused tokens stay, as with iPerf3's `-b`. Default: all is written at once. UDP has the rate of its \
         transport.",
    );
    let burst =
        "Payload that the application writes at once: tokens come so many at a time. Default: one segment.";
    form.optional("burst", Bytes::SOME, &mut traffic.burst_bytes, burst);
    if traffic.burst_bytes.is_some() && traffic.rate.is_none() {
        let hint = "give `rate` too, or leave `burst` out".to_owned();
        form.refuse("burst", "there is no rate at which bursts are written".to_owned(), hint);
    }
    let mut mss = traffic.mss_bytes.map(u64::from);
    form.optional(
        "mss",
        Bytes { least: 1, most: framing::MSS_MOST },
        &mut mss,
        "Largest payload of a segment or datagram, at most `framing.mss`. Default: `framing.mss`.",
    );
    traffic.mss_bytes = mss.map(|mss| mss as u16);
}

fn visit_transport(form: &mut impl Form, own: &mut Option<Transport>) {
    form.optional_table(
        "transport",
        own,
        "What carries it, instead of `[transport]`: the same keys, with defaults of their own.",
        || transport::of_kind(transport::KINDS[0]),
        |form, transport| transport::visit(form, transport),
    );
}
