//! Incast: many servers answer one client at once.

use super::poisson::check_rate;
use super::{Amount, check_hosts, whole_ns};
use crate::random::Stream;
use crate::{Flow, Ports, Start, TrafficError};
use anabranch_fabric::Fabric;
use std::collections::BTreeSet;

/// Jobs in which servers answer one client, all starting at once. Jobs arrive as a Poisson process.
#[derive(Clone, Debug, PartialEq)]
pub struct Incast {
    /// Number of servers of each job, drawn anew for each from all hosts but its client.
    pub servers: u32,
    /// Bytes that each server sends.
    pub response_bytes: u64,
    /// How often jobs arrive in the whole fabric.
    pub rate: JobRate,
    /// Hosts that may be clients.
    pub clients: Clients,
    /// Number of jobs, or the time in which they arrive.
    pub amount: Amount,
    /// Time from which jobs arrive, in picoseconds.
    pub start_ps: u64,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}

/// How often the jobs of an incast arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JobRate {
    /// Number of jobs a second.
    PerSecond(f64),
    /// Payload, as a fraction above zero of what the links of hosts carry: those of all that may be clients, or of all that
    /// send, whichever are less.
    Load(f64),
}

/// Hosts that may be the client of an incast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// Any host, all equally likely, drawn anew for each job.
    Any,
    /// Any of these hosts, all equally likely, drawn anew for each job.
    Among(Vec<u32>),
}

impl Incast {
    /// Number of jobs a second in the whole fabric.
    #[must_use]
    pub fn jobs_per_s(&self, fabric: &Fabric) -> f64 {
        match self.rate {
            JobRate::PerSecond(jobs) => jobs,
            JobRate::Load(fraction) => {
                let out_bps = |host: u32| fabric.ports()[fabric.ports_of(host)[0] as usize].rate.bps() as f64;
                let in_bps = |host: u32| {
                    let port = fabric.ports()[fabric.ports_of(host)[0] as usize].reverse;
                    fabric.ports()[port as usize].rate.bps() as f64
                };
                let all = 0..fabric.named_hosts();
                let clients_bps: f64 = match &self.clients {
                    Clients::Any => all.clone().map(in_bps).sum(),
                    Clients::Among(clients) => {
                        // Those that are no hosts are refused where flows are drawn.
                        let clients = clients.iter().copied().filter(|&client| client < all.end);
                        clients.collect::<BTreeSet<u32>>().into_iter().map(in_bps).sum()
                    }
                };
                let job_bits = 8.0 * self.response_bytes as f64 * f64::from(self.servers);
                fraction * clients_bps.min(all.map(out_bps).sum()) / job_bits
            }
        }
    }

    pub(super) fn flows(&self, fabric: &Fabric, seed: u64) -> Result<Vec<Flow>, TrafficError> {
        let hosts = fabric.named_hosts();
        if self.servers == 0 || self.servers >= hosts {
            return Err(TrafficError::new(
                "servers",
                format!("{} in a fabric of {hosts} hosts", self.servers),
                format!("ask for 1 to {} servers: all hosts but the client", hosts.saturating_sub(1)),
            ));
        }
        if self.response_bytes == 0 {
            return Err(TrafficError::new("response", "0 bytes", "give it at least one byte"));
        }
        if let Clients::Among(clients) = &self.clients {
            check_hosts(fabric, "clients", clients)?;
            if clients.is_empty() {
                return Err(TrafficError::new("clients", "none", "name at least one host"));
            }
        }
        let jobs_per_s = self.jobs_per_s(fabric);
        check_rate(jobs_per_s)?;
        self.amount.check(jobs_per_s * f64::from(self.servers))?;
        let mut arrivals = Stream::new(seed, "incast arrivals");
        let mut time_ns = 0.0;
        let mut flows = Vec::new();
        for job in 0.. {
            time_ns += arrivals.exponential(1e9 / jobs_per_s);
            let time_ps = whole_ns(time_ns);
            if !self.amount.includes(job.into(), time_ps) {
                break;
            }
            let mut stream = Stream::of_entity(seed, "incast hosts", job);
            let client = match &self.clients {
                Clients::Any => stream.below(hosts.into()) as u32,
                Clients::Among(clients) => clients[stream.below(clients.len() as u64) as usize],
            };
            flows.extend(servers(&mut stream, hosts, client, self.servers).into_iter().map(|server| Flow {
                src: server,
                dst: client,
                size_bytes: self.response_bytes,
                start: Start::At(self.start_ps + time_ps),
                path: None,
                job: Some(job),
                transport: self.transport,
                ports: Ports::CHOSEN,
            }));
        }
        Ok(flows)
    }
}

/// Draws `count` hosts besides the client, every set equally likely, ascending (Floyd's sampling, Bentley 1987).
fn servers(stream: &mut Stream, hosts: u32, client: u32, count: u32) -> Vec<u32> {
    let mut chosen = BTreeSet::new();
    for last in hosts - 1 - count..hosts - 1 {
        let drawn = stream.below(u64::from(last) + 1) as u32;
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    // Numbers among all hosts but the client.
    chosen.into_iter().map(|number| number + u32::from(number >= client)).collect()
}
