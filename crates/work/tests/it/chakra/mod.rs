//! Chakra traces: what ASTRA-sim, STAGE and PyTorch write into them, in files of our own making.

mod collectives;
mod compute;
mod files;
mod golden;
mod groups;

use crate::readers::end_ps;
use anabranch_work::chakra::{self, Context, Trace};
use anabranch_work::{Act, Graph, NodeTimes, WorkError, links};

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn counted(key: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(key << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn integer(key: u64, value: u64) -> Vec<u8> {
    [varint(key << 3), varint(value)].concat()
}

/// A node as protobuf writes it: kind, identity, dependencies, duration and attributes.
fn node(kind: u64, id: u64, after: &[u64], us: u64, attributes: &[(&str, u64)]) -> Vec<u8> {
    let mut message = [integer(1, id), counted(2, b"node"), integer(3, kind)].concat();
    let packed: Vec<u8> = after.iter().flat_map(|&id| varint(id)).collect();
    if !after.is_empty() {
        message.extend(counted(5, &packed));
    }
    message.extend(integer(7, us));
    for (name, value) in attributes {
        message.extend(counted(10, &[counted(1, name.as_bytes()), integer(9, *value)].concat()));
    }
    message
}

fn trace(nodes: &[Vec<u8>]) -> Vec<u8> {
    let metadata = counted(1, b"0.0.4");
    let mut file = [varint(metadata.len() as u64), metadata].concat();
    for node in nodes {
        file.extend(varint(node.len() as u64));
        file.extend(node);
    }
    file
}

/// The node with one more attribute, whose value is written as it is.
fn with(mut node: Vec<u8>, name: &str, value: &[u8]) -> Vec<u8> {
    node.extend(counted(10, &[counted(1, name.as_bytes()), value.to_vec()].concat()));
    node
}

fn text(value: &str) -> Vec<u8> {
    counted(29, value.as_bytes())
}

fn int32(value: u64) -> Vec<u8> {
    integer(7, value)
}

fn truth(value: bool) -> Vec<u8> {
    integer(27, value.into())
}

fn truths(values: &[bool]) -> Vec<u8> {
    counted(28, &counted(1, &values.iter().map(|&value| value.into()).collect::<Vec<u8>>()))
}

/// A request for a collective.
fn collective(id: u64, comm_type: u64, bytes: u64, after: &[u64]) -> Vec<u8> {
    node(7, id, after, 0, &[("comm_type", comm_type), ("comm_size", bytes)])
}

/// Graph of the nodes of each rank.
fn graph_of(ranks: &[Vec<Vec<u8>>], context: &Context) -> Result<Graph, WorkError> {
    let files = (0..).zip(ranks).map(|(rank, nodes)| (format!("t.{rank}.et"), trace(nodes)));
    chakra::graph(&files.collect::<Vec<_>>(), context)
}

/// Times of all nodes where each message takes 1 us.
fn times(graph: &Graph) -> Vec<NodeTimes> {
    graph.check().unwrap();
    links::run(graph, &mut links::AlphaBeta { alpha_ps: 1_000_000, beta_ps: 0.0 })
}

/// End of the graph where each message takes 1 us, in nanoseconds.
fn end_ns(graph: &Graph) -> u64 {
    times(graph).iter().map(|node| node.end_ps).max().unwrap() / 1000
}

/// Pairs of ranks that exchange messages, each once.
fn pairs(graph: &Graph) -> Vec<(u32, u32)> {
    let sends = (0..graph.nodes().len() as u32).filter_map(|node| match graph.node(node).act {
        Act::Send { to, .. } => Some((graph.rank_of(node), to)),
        _ => None,
    });
    let mut pairs: Vec<_> = sends.collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[test]
fn chakra_traces_become_messages_computing_and_collectives() {
    let rank = |rank: u64| {
        let bytes = trace(&[
            node(4, 7, &[], 5, &[]),
            node(7, 8, &[7], 0, &[("comm_type", 0), ("comm_size", 4000)]),
            if rank == 0 {
                node(5, 9, &[8], 0, &[("comm_dst", 1), ("comm_size", 100), ("comm_tag", 3)])
            } else {
                node(6, 9, &[8], 0, &[("comm_src", 0), ("comm_size", 100), ("comm_tag", 3)])
            },
        ]);
        (format!("trace.{rank}.et"), bytes)
    };
    let graph = chakra::graph(&[rank(0), rank(1)], &Context::default()).unwrap();
    // 5 us, a ring of two in two rounds of 2000 B, a message of 100 B.
    assert_eq!(end_ps(&graph), 5_000_000 + 2 * (1_000_000 + 20_000) + 1_000_000 + 1000);
    assert_eq!(graph.parts()[1].bus, Some((2, 2)));
}

#[test]
fn chakra_errors_name_file_byte_and_node() {
    let bytes = trace(&[node(4, 1, &[2], 5, &[])]);
    let cut = Trace::read(&bytes[..bytes.len() - 1], "t.0.et").unwrap_err().to_string();
    assert!(cut.starts_with("t.0.et: byte 8: the file or message ends within a field: 14 of 15"), "{cut}");
    let read = |nodes: &[Vec<u8>]| graph_of(&[nodes.to_vec()], &Context::default()).unwrap_err().to_string();
    assert!(read(&[node(4, 1, &[2], 5, &[])]).contains("byte 9 (node 1, `node`): it depends on node 2"));
    assert_eq!(
        read(&[node(7, 1, &[], 0, &[("comm_type", 10)])]),
        "t.0.et: byte 9 (node 1, `node`): comm_type 10 is none of the schema's; correct the trace, or what wrote it; known \
         are ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SCATTER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, \
         BARRIER"
    );
    assert!(read(&[node(5, 1, &[], 0, &[])]).contains("`comm_dst` is missing"));
    let send = |attributes| read(&[node(5, 1, &[], 0, attributes)]);
    assert!(
        send(&[("comm_dst", 0), ("comm_size", 1), ("comm_src", 3)])
            .contains("`comm_src` is 3, and this is the trace of rank 0")
    );
    assert_eq!(
        send(&[("comm_dst", 4), ("comm_size", 1)]),
        "t.4.et: the trace of rank 4 is not there, and node 1 (`node`) of t.0.et has that rank; put the files of all ranks \
         beside each other, numbered from 0"
    );
}
