//! Incast: jobs, clients, servers.

use super::setup::{PS_PER_S, at_ps, leaf_spine};
use anabranch_traffic::Workload;
use anabranch_traffic::workload::{Amount, Clients, Incast, JobRate};
use std::collections::BTreeSet;

/// Incast of the flowcell literature: 1 MB from 20 servers, 7,500 jobs in 250 ms, 240 Gbit/s in all.
fn incast() -> Incast {
    Incast {
        servers: 20,
        response_bytes: 50_000,
        rate: JobRate::PerSecond(30_000.0),
        clients: Clients::Any,
        amount: Amount::Count(7_500),
        start_ps: 0,
        transport: 0,
    }
}

#[test]
fn jobs_are_one_client_and_distinct_servers_at_one_time() {
    let flows = Workload::Incast(incast()).flows(&leaf_spine(), 1).unwrap();
    assert_eq!(flows.len(), 150_000);
    let (mut clients, mut served) = ([0f64; 32], [0f64; 32]);
    for (number, job) in (0..).zip(flows.chunks(20)) {
        let servers: BTreeSet<u32> = job.iter().map(|flow| flow.src).collect();
        assert_eq!(servers.len(), 20);
        assert!(!servers.contains(&job[0].dst));
        let head = job[0];
        assert!(job.iter().all(|f| (f.dst, f.start, f.job) == (head.dst, head.start, Some(number))));
        clients[head.dst as usize] += 1.0;
        servers.iter().for_each(|&server| served[server as usize] += 1.0);
    }
    // 234.4 jobs each, deviation 15.1; 4,687.5 answers each, deviation 42.
    assert!(clients.iter().all(|n| (n - 234.4).abs() < 68.0), "{clients:?}");
    assert!(served.iter().all(|n| (n - 4687.5).abs() < 190.0), "{served:?}");
    let last_s = at_ps(&flows[149_999]) as f64 / PS_PER_S as f64;
    // 7,500 exponential gaps: deviation 1.2%.
    assert!((last_s / 0.25 - 1.0).abs() < 0.05, "{last_s}");
    let rate_bps = flows.iter().map(|flow| flow.size_bytes).sum::<u64>() as f64 * 8.0 / last_s;
    assert!((rate_bps / 240e9 - 1.0).abs() < 0.05, "{rate_bps}");
}

#[test]
fn clients_may_be_named() {
    let some =
        Incast { clients: Clients::Among(vec![3, 5]), servers: 31, amount: Amount::Count(100), ..incast() };
    let flows = Workload::Incast(some).flows(&leaf_spine(), 1).unwrap();
    assert_eq!(flows.iter().map(|flow| flow.dst).collect::<BTreeSet<_>>(), BTreeSet::from([3, 5]));
    assert_eq!(flows.len(), 3100);
}

#[test]
fn more_jobs_leave_the_earlier_ones_as_they_are() {
    let fabric = leaf_spine();
    let jobs = |count| {
        Workload::Incast(Incast { amount: Amount::Count(count), ..incast() }).flows(&fabric, 4).unwrap()
    };
    assert_eq!(jobs(10), jobs(1000)[..200]);
}

#[test]
fn a_load_is_a_part_of_what_clients_can_receive() {
    // 32 hosts of 10 Gbit/s; each job of 20 x 50,000 B is 8 Mbit.
    let fabric = leaf_spine();
    let jobs_per_s =
        |load, clients| Incast { rate: JobRate::Load(load), clients, ..incast() }.jobs_per_s(&fabric);
    assert_eq!(jobs_per_s(0.5, Clients::Any), 20_000.0);
    assert_eq!(jobs_per_s(0.5, Clients::Among(vec![7, 3, 7])), 1_250.0);
    // Payload of a second that is drawn so fills half of the client's link.
    let one = Incast {
        rate: JobRate::Load(0.5),
        clients: Clients::Among(vec![7]),
        amount: Amount::Duration(PS_PER_S),
        ..incast()
    };
    let flows = Workload::Incast(one).flows(&fabric, 1).unwrap();
    let bits: f64 = flows.iter().map(|flow| flow.size_bytes as f64 * 8.0).sum();
    // 625 jobs on average, whose number has a standard deviation of 25.
    assert!((bits / 5e9 - 1.0).abs() < 5.0 * 25.0 / 625.0, "{bits}");
}

#[test]
fn impossible_incasts_are_refused() {
    let fabric = leaf_spine();
    for (incast, part) in [
        (Incast { servers: 32, ..incast() }, "servers: 32 in a fabric of 32 hosts"),
        (Incast { servers: 0, ..incast() }, "servers: 0 in"),
        (Incast { response_bytes: 0, ..incast() }, "response: 0 bytes"),
        (Incast { rate: JobRate::PerSecond(0.0), ..incast() }, "0 arrivals a second"),
        (Incast { rate: JobRate::Load(0.0), ..incast() }, "0 arrivals a second"),
        (Incast { clients: Clients::Among(vec![]), ..incast() }, "clients: none"),
        (Incast { clients: Clients::Among(vec![1, 32]), ..incast() }, "clients: host 32"),
    ] {
        let error = Workload::Incast(incast).flows(&fabric, 1).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
