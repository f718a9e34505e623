//! Reads `topology.txt` of ns-3's RDMA simulators: HPCC's and those that descend from it (conweave-ns3, ASTRA-sim's network),
//! and SimAI's with servers.
//!
//! The first line counts nodes, switches and links; SimAI's nodes, accelerators of a server, scale-up switches, other
//! switches, links, and names the accelerator. Then the numbers of the switches stand, scale-up switches first, and for
//! each link its ends, rate, delay, and the probability with which it loses a frame. What the fields mean is read in
//! `simulation/scratch/third.cc` of alibaba-edu/High-Precision-Congestion-Control, `scratch/network-load-balance.cc` of
//! conweave-project/conweave-ns3 and `astra-sim-alibabacloud/astra-sim/network_frontend/ns3/common.h` of aliyun/SimAI.

use super::lines::{Line, lines};
use super::{Fault, TopologyFile, TopologyFileError};
use crate::topology::LinkSettings;
use crate::{Graph, GraphLink, GraphNode, Tier, quantity};

/// First line of a file, as errors describe it.
const HEADER: &str = "`nodes switches links`, or SimAI's `nodes accelerators-per-server scale-up-switches switches links type`";
const LINK: &str = "`node node rate delay error-rate`, as in 0 128 100Gbps 1000ns 0";
/// Largest number of nodes or links in a header: fabrics of more are refused anyway, and memory is asked for by it.
const COUNT_MAX: u32 = 1 << 22;

/// Numbers of the first line.
struct Header {
    nodes: u32,
    switches: u32,
    links: u32,
    scale_up_switches: u32,
    accelerators_per_server: u32,
}

/// Link of the file.
struct FileLink {
    ends: [u32; 2],
    settings: LinkSettings,
    loss: f64,
    line: usize,
}

/// Reads the topology that `text` describes; errors name the file `file`. A node keeps its number in its name: `host0`,
/// `switch128`, and of SimAI `server64` for a scale-up switch. Hosts are numbered in the order of the file. Accelerators of
/// SimAI have a network card and a port into their server's scale-up switch, as in [`crate::topology::RailOptimised`].
///
/// # Errors
/// Refuses lines that are not understood, numbers that no node has, and fewer links than the first line says.
pub fn parse(text: &str, file: &str, defaults: &LinkSettings) -> Result<TopologyFile, TopologyFileError> {
    read(text, defaults).map_err(|fault| fault.in_file(file))
}

fn read(text: &str, defaults: &LinkSettings) -> Result<TopologyFile, Fault> {
    let mut lines = lines(text).peekable();
    let Some(first) = lines.next() else {
        return Err(Fault::new(0, "it is empty", format!("begin with {HEADER}")));
    };
    let header = header(&first)?;
    let mut switches: Vec<u32> = Vec::new();
    // The simulators read numbers wherever lines end; a file without switches has an empty line, or 0 switches.
    while switches.len() < header.switches as usize
        && let Some(line) = lines.next()
    {
        for word in &line.words {
            let number = line.number("switch", word, header.nodes - 1)?;
            if switches.contains(&number) {
                return Err(line.fault(format!("switch {number} stands twice"), "name each switch once"));
            }
            switches.push(number);
        }
        if switches.len() > header.switches as usize {
            let problem =
                format!("{} switches where the first line says {}", switches.len(), header.switches);
            return Err(line.fault(problem, "count switches in the first line"));
        }
    }
    let mut links = Vec::new();
    while links.len() < header.links as usize
        && let Some(line) = lines.next()
    {
        links.push(link(&line, header.nodes, defaults)?);
    }
    if links.len() < header.links as usize {
        let problem = format!("{} links where the first line says {}", links.len(), header.links);
        return Err(first.fault(problem, "count the links, one on each line, in the first line"));
    }
    let mut warnings = Vec::new();
    // Their own files end with lines of explanation.
    let mut more = lines.filter(|line| line.words[0].parse::<u32>().is_ok());
    if let Some(line) = more.next() {
        let after = format!("line {} and what follows is not read, as in ns-3", line.number);
        warnings.push(format!("{after}: the first line says {} links", header.links));
    }
    let mut is_switch = vec![false; header.nodes as usize];
    switches.iter().for_each(|&switch| is_switch[switch as usize] = true);
    let (scale_up, _) = switches.split_at(header.scale_up_switches as usize);
    if !scale_up.is_empty() {
        check_servers(header.accelerators_per_server as usize, scale_up, &is_switch, &links)?;
    }
    let graph = graph(&is_switch, scale_up, &links);
    let losses = (0..).zip(&links).map(|(index, link)| (index, link.loss));
    Ok(TopologyFile { graph, losses: losses.filter(|(_, loss)| *loss > 0.0).collect(), warnings })
}

fn header(line: &Line<'_>) -> Result<Header, Fault> {
    let count = |name, word| line.number(name, word, COUNT_MAX);
    let header = match line.words[..] {
        [nodes, switches, links] => Header {
            nodes: count("nodes", nodes)?,
            switches: count("switches", switches)?,
            links: count("links", links)?,
            scale_up_switches: 0,
            accelerators_per_server: 1,
        },
        // The last word names the accelerator, which the network knows nothing of.
        [nodes, per_server, scale_up, others, links, _] => Header {
            nodes: count("nodes", nodes)?,
            switches: count("scale-up switches", scale_up)? + count("switches", others)?,
            links: count("links", links)?,
            scale_up_switches: count("scale-up switches", scale_up)?,
            accelerators_per_server: count("accelerators of a server", per_server)?,
        },
        _ => {
            return Err(line.fault(
                format!("`{}` is no first line", line.words.join(" ")),
                format!("begin with {HEADER}"),
            ));
        }
    };
    if header.switches >= header.nodes || header.accelerators_per_server == 0 {
        let problem = format!("{} switches of {} nodes leave no hosts", header.switches, header.nodes);
        return Err(line.fault(problem, format!("begin with {HEADER}")));
    }
    Ok(header)
}

fn link(line: &Line<'_>, nodes: u32, defaults: &LinkSettings) -> Result<FileLink, Fault> {
    let [a, b, rate, delay, loss] = line.fields(LINK)?;
    let (a, b) = (line.number("link", a, nodes - 1)?, line.number("link", b, nodes - 1)?);
    let of = |problem: String| format!("link {a} - {b}: {problem}");
    let read_rate = quantity::rate(rate).ok_or_else(|| {
        line.fault(
            of(format!("rate: `{rate}` is no rate")),
            "give one from 64kbps to 100Tbps, such as 100Gbps",
        )
    })?;
    let delay_ps = quantity::time_ps(delay).ok_or_else(|| {
        line.fault(of(format!("delay: `{delay}` is no time")), "give one such as 1000ns or 0.001ms")
    })?;
    let probability = loss.parse().ok().filter(|loss| (0.0..=1.0).contains(loss)).ok_or_else(|| {
        line.fault(of(format!("error rate: `{loss}` is no probability")), "give a number from 0 to 1")
    })?;
    let settings = LinkSettings { rate: read_rate, delay_ps, ..*defaults };
    Ok(FileLink { ends: [a, b], settings, loss: probability, line: line.number })
}

/// Hosts and switches in the order of their numbers.
fn graph(is_switch: &[bool], scale_up: &[u32], links: &[FileLink]) -> Graph {
    let nodes = (0u32..).zip(is_switch).map(|(number, &is_switch)| {
        let (name, tier) = match (is_switch, scale_up.contains(&number)) {
            (false, _) => ("host", Some(Tier::Host)),
            (true, false) => ("switch", None),
            (true, true) => ("server", Some(Tier::Server)),
        };
        GraphNode { name: format!("{name}{number}"), tier, pod: None }
    });
    let links = links.iter().map(|link| {
        let [a, b] = link.ends;
        GraphLink { a, b, settings: link.settings, back: None }
    });
    Graph { nodes: nodes.collect(), links: links.collect() }
}

/// Refuses servers that are not as the first line says: so many accelerators each, in the order of their numbers, each with
/// one link to the scale-up switch of its server.
fn check_servers(
    per_server: usize,
    scale_up: &[u32],
    is_switch: &[bool],
    links: &[FileLink],
) -> Result<(), Fault> {
    let accelerators: Vec<u32> =
        (0..).zip(is_switch).filter(|(_, is_switch)| !**is_switch).map(|(number, _)| number).collect();
    let server_of = |number: u32| scale_up.iter().position(|&switch| switch == number);
    let mut joined = vec![false; accelerators.len()];
    for link in links {
        let [a, b] = link.ends;
        let Some((host, server)) =
            [(a, b), (b, a)].into_iter().find_map(|(host, switch)| Some((host, server_of(switch)?)))
        else {
            continue;
        };
        let rank = accelerators.iter().position(|&number| number == host);
        let Some(rank) = rank.filter(|&rank| rank / per_server == server && !joined[rank]) else {
            return Err(Fault::new(
                link.line,
                format!("link {a} - {b}: no accelerator's only link to the scale-up switch of its server"),
                format!(
                    "give each accelerator one such link; accelerators 0 to {} share the first of the switches, and \
                     several scale-up switches of a server are one as fast as all",
                    per_server - 1
                ),
            ));
        };
        joined[rank] = true;
    }
    match joined.iter().position(|joined| !joined) {
        None => Ok(()),
        Some(rank) => {
            let problem = format!("accelerator {} has no link to a scale-up switch", accelerators[rank]);
            Err(Fault::new(0, problem, "link it, or write 0 scale-up switches in the first line"))
        }
    }
}
