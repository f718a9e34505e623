//! Readers of files: what other programs decoded, errors with place and hint, damage.

use anabranch_work::chakra::{self, Attribute, Groups, Setting, Trace};
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::msccl::Buffer;
use anabranch_work::{Act, Graph, WorkError, connection_matrix, goal, msccl};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn golden() -> Option<PathBuf> {
    std::env::var_os("ANABRANCH_GOLDEN").map(PathBuf::from)
}

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

fn end_ps(graph: &Graph) -> u64 {
    graph.check().unwrap();
    let times = run(graph, &mut AlphaBeta { alpha_ps: 1_000_000, beta_ps: 10.0 });
    times.iter().map(|node| node.end_ps).max().unwrap()
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
        Trace::read(&bytes, &format!("trace.{rank}.et")).unwrap()
    };
    let graph = chakra::graph(&[rank(0), rank(1)], &Groups::new()).unwrap();
    // 5 us, a ring of two in two rounds of 2000 B, a message of 100 B.
    assert_eq!(end_ps(&graph), 5_000_000 + 2 * (1_000_000 + 20_000) + 1_000_000 + 1000);
    assert_eq!(graph.parts()[1].bus, Some((2, 2)));
}

#[test]
fn chakra_errors_name_file_byte_and_node() {
    let bytes = trace(&[node(4, 1, &[2], 5, &[])]);
    let cut = Trace::read(&bytes[..bytes.len() - 1], "t.0.et").unwrap_err().to_string();
    assert!(cut.starts_with("t.0.et: byte 8: the file or message ends within a field: 14 of 15"), "{cut}");
    let read = |nodes: &[Vec<u8>]| {
        let traces = [Trace::read(&trace(nodes), "t.0.et").unwrap()];
        chakra::graph(&traces, &Groups::new()).unwrap_err().to_string()
    };
    assert!(read(&[node(4, 1, &[2], 5, &[])]).contains("byte 9 (node 1, `node`): it depends on node 2"));
    assert!(
        read(&[node(5, 1, &[], 0, &[("comm_dst", 4), ("comm_size", 1)])]).contains("no rank of the traces")
    );
    assert_eq!(
        read(&[node(7, 1, &[], 0, &[("comm_type", 9)])]),
        "t.0.et: byte 9 (node 1, `node`): comm_type 9 (BARRIER) is not expanded here; write it as an ALL_REDUCE of a few \
         bytes. Expanded are ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER"
    );
    for (kind, name) in [(1, "REDUCE"), (3, "GATHER"), (4, "SCATTER")] {
        let error = read(&[node(7, 1, &[], 0, &[("comm_type", kind)])]);
        assert!(
            error.contains(&format!("({name}) is not expanded here; write it as sends and receives. ")),
            "{error}"
        );
    }
    assert!(read(&[node(5, 1, &[], 0, &[])]).contains("`comm_dst` is missing"));
}

/// A collective with one more attribute, whose value is written as it is.
fn collective(kind: u64, name: &str, value: &[u8]) -> Vec<u8> {
    let own = counted(10, &[counted(1, name.as_bytes()), value.to_vec()].concat());
    [node(7, 1, &[], 0, &[("comm_type", kind), ("comm_size", 4096)]), own].concat()
}

fn graph_of(ranks: &[Vec<u8>]) -> Result<Graph, WorkError> {
    let traces = (0..).zip(ranks).map(|(rank, node)| {
        Trace::read(&trace(std::slice::from_ref(node)), &format!("t.{rank}.et")).unwrap()
    });
    chakra::graph(&traces.collect::<Vec<_>>(), &Groups::new())
}

#[test]
fn groups_of_a_part_of_the_ranks_are_refused_for_what_they_are() {
    // PyTorch names groups by text, others by numbers; STAGE calls the attribute otherwise.
    let named = |name: &'static str, value: fn(u64) -> Vec<u8>| {
        let ranks: Vec<_> = (0..4).map(|rank| collective(0, name, &value(rank / 2))).collect();
        graph_of(&ranks).unwrap_err().to_string()
    };
    for error in [
        named("pg_name", |group| counted(29, format!("{group}").as_bytes())),
        named("pg_name", |group| integer(7, group)),
        named("comm_group", |group| counted(29, format!("{group}").as_bytes())),
    ] {
        assert!(
            error.starts_with("t.0.et: byte 9 (node 1, `node`): collective 0 of communicator group `0`: rank 2 never joins it; "),
            "{error}"
        );
        assert!(error.contains("not read yet"), "{error}");
    }
    let all = |value: &[u8]| {
        graph_of(&[collective(0, "involved_dim", value), collective(0, "involved_dim", value)])
    };
    assert!(all(&counted(28, &counted(1, &[1, 1]))).is_ok());
    let error = all(&counted(28, &counted(1, &[1, 0]))).unwrap_err().to_string();
    assert!(error.contains("`involved_dim` leaves out a dimension"), "{error}");
}

#[test]
fn a_broadcast_comes_from_its_root() {
    let senders = |root: Option<u64>| {
        let broadcast = || match root {
            Some(root) => collective(5, "root", &integer(7, root)),
            None => node(7, 1, &[], 0, &[("comm_type", 5), ("comm_size", 4096)]),
        };
        let graph = graph_of(&(0..4).map(|_| broadcast()).collect::<Vec<_>>()).unwrap();
        let sends = |rank: u32| {
            graph.nodes_of(rank).filter(|&node| matches!(graph.node(node).act, Act::Send { .. })).count()
        };
        (0..4).map(sends).collect::<Vec<_>>()
    };
    assert_eq!(senders(None), [2, 1, 0, 0]);
    assert_eq!(senders(Some(0)), [2, 1, 0, 0]);
    assert_eq!(senders(Some(2)), [0, 0, 2, 1]);
    let error =
        graph_of(&(0..2).map(|_| collective(5, "root", &integer(7, 5))).collect::<Vec<_>>()).unwrap_err();
    assert_eq!(error.problem, "`root` is 5, which is no rank of its group");
    let error = graph_of(&(0..2).map(|rank| collective(5, "root", &integer(7, rank))).collect::<Vec<_>>())
        .unwrap_err();
    assert!(error.problem.starts_with("another collective, size or root than"), "{error}");
}

#[test]
fn operations_without_a_duration_are_warned_of() {
    let graph = graph_of(&[node(4, 7, &[], 0, &[("num_ops", 1 << 40)])]).unwrap();
    assert_eq!(
        graph.warnings(),
        [
            "t.0.et: 1 of 1 nodes compute, load or store without a duration (`duration_micros`) and take no time here, the \
          first of them node 7, `node`; operations and sizes of tensors are not turned into time"
        ]
    );
    assert_eq!(graph.repeated(2, 0).unwrap().warnings(), graph.warnings());
    assert!(graph_of(&[node(4, 7, &[], 1, &[])]).unwrap().warnings().is_empty());
    assert!(graph_of(&[node(1, 7, &[], 0, &[])]).unwrap().warnings().is_empty(), "metadata take none");
}

#[test]
fn the_files_of_all_ranks_are_found_whatever_stands_before_the_rank() {
    let folder = std::env::temp_dir().join(format!("anabranch-ranks-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("in")).unwrap();
    let write = |name: &str| std::fs::write(folder.join(name), name).unwrap();
    let found = |name: &str| {
        let read = chakra::read_ranks(&folder, name);
        read.map(|files| files.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    for name in
        ["rank_0.et", "rank_1.et", "trace0.et", "trace1.et", "in/0.et", "in/1.et", "all.09.et", "alone.et"]
    {
        write(name);
    }
    (0..11).filter(|rank| *rank != 9).for_each(|rank| write(&format!("all.{rank}.et")));
    assert_eq!(found("rank_0.et").unwrap(), ["rank_0.et", "rank_1.et"]);
    assert_eq!(found("trace1.et").unwrap(), ["trace0.et", "trace1.et"]);
    assert_eq!(found("in/0.et").unwrap(), ["in/0.et", "in/1.et"]);
    assert_eq!(found("alone.et").unwrap(), ["alone.et"]);
    let eleven = found("all.0.et").unwrap();
    assert_eq!((eleven.len(), &*eleven[9], &*eleven[10]), (11, "all.09.et", "all.10.et"));
    write("all.9.et");
    assert!(found("all.0.et").unwrap_err().contains("are both of rank 9; leave one of them"));
    std::fs::remove_file(folder.join("all.9.et")).unwrap();
    std::fs::remove_file(folder.join("all.2.et")).unwrap();
    assert_eq!(
        found("all.0.et").unwrap_err(),
        "all.2.et: the trace of rank 2 is not there, and that of rank 10 is; put the files of all ranks beside each other, \
         numbered from 0"
    );
    assert!(found("none.0.et").unwrap_err().starts_with("none.0.et: cannot be read: "));
    std::fs::remove_dir_all(folder).unwrap();
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn attribute(attribute: &Attribute) -> String {
    let value = match &attribute.value {
        Setting::Whole(7, number) => format!("int32_val: {number}"),
        Setting::Whole(_, number) => format!("int64_val: {number}"),
        Setting::Bool(truth) => format!("bool_val: {truth}"),
        Setting::Bools(truths) => format!("bool_list: {truths:?}"),
        Setting::Text(text) => format!("string_val: \"{}\"", escaped(text)),
        Setting::Other(field) => format!("field {field}"),
    };
    format!("attr {{\n  name: \"{}\"\n  {value}\n}}\n", attribute.name)
}

/// Text that `protoc --decode` prints of a trace, without the lengths of messages.
fn decoded(trace: &Trace) -> String {
    let mut text = String::new();
    if !trace.metadata.version.is_empty() {
        writeln!(text, "version: \"{}\"", trace.metadata.version).unwrap();
    }
    trace.metadata.attributes.iter().for_each(|own| text.push_str(&attribute(own)));
    for node in &trace.nodes {
        if node.id > 0 {
            writeln!(text, "id: {}", node.id).unwrap();
        }
        let kind = ["", "", "", "", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"];
        writeln!(text, "name: \"{}\"\ntype: {}", node.name, kind[node.kind_number as usize]).unwrap();
        node.ctrl_deps.iter().for_each(|id| writeln!(text, "ctrl_deps: {id}").unwrap());
        node.data_deps.iter().for_each(|id| writeln!(text, "data_deps: {id}").unwrap());
        if node.duration_us > 0 {
            writeln!(text, "duration_micros: {}", node.duration_us).unwrap();
        }
        node.attributes.iter().for_each(|own| text.push_str(&attribute(own)));
    }
    text
}

/// Files of ASTRA-sim are read where they are.
#[test]
fn chakra_files_of_astra_sim_are_read_as_protoc_decodes_them() {
    let Some(folder) = golden().map(|golden| golden.join("astra")) else { return };
    let dump = std::fs::read_to_string(folder.join("et_decoded.txt")).unwrap();
    let mut files = 0;
    for section in dump.split("==== ").skip(1) {
        let (head, body) = section.split_once('\n').unwrap();
        let name = head.split(" (").next().unwrap();
        let expected: String =
            body.lines().filter(|line| !line.starts_with("-- ")).flat_map(|line| [line, "\n"]).collect();
        let trace = Trace::read(&std::fs::read(folder.join(name)).unwrap(), name).unwrap();
        assert_eq!(decoded(&trace).trim_end(), expected.trim_end(), "{name}");
        files += 1;
    }
    assert_eq!(files, 5);
    // The ring as messages of a trace, as XML, and as the house expands it: the same rounds.
    let custom = folder.join("system/custom_ring_allreduce_8npus_1MB");
    let traces: Vec<Trace> = (0..8)
        .map(|rank| {
            let name = format!("custom_allreduce.{rank}.et");
            Trace::read(&std::fs::read(custom.join(&name)).unwrap(), &name).unwrap()
        })
        .collect();
    let graph = chakra::graph(&traces, &Groups::new()).unwrap();
    let rounds = 14 * (1_000_000 + 10 * 131_072);
    assert_eq!(end_ps(&graph), rounds + 7 * 7_000_000);
    let xml = std::fs::read_to_string(custom.join("custom_allreduce.xml")).unwrap();
    let buffer = Buffer { bytes: 1 << 20, reduce_ps_per_byte: 0.0 };
    assert_eq!(end_ps(&msccl::read(&xml, "ring.xml", buffer).unwrap()), rounds);
}

/// Files of htsim are read where they are.
#[test]
fn matrices_of_htsim_are_read() {
    let Some(folder) = golden().map(|golden| golden.join("uec/cm")) else { return };
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let graph = connection_matrix::read(&std::fs::read_to_string(&path).unwrap(), &name).unwrap();
        graph.check().unwrap();
        files += 1;
    }
    assert!(files >= 10, "{files}");
}

/// A ring of `gpus` in one thread block each, as msccl-tools writes it.
fn ring_xml(gpus: u32) -> String {
    let mut xml = format!("<algo name=\"ring\" ngpus=\"{gpus}\">\n");
    for gpu in 0..gpus {
        let (next, before) = ((gpu + 1) % gpus, (gpu + gpus - 1) % gpus);
        writeln!(xml, "<gpu id=\"{gpu}\" i_chunks=\"{gpus}\" o_chunks=\"0\">").unwrap();
        writeln!(xml, "<tb id=\"0\" send=\"{next}\" recv=\"{before}\" chan=\"0\">").unwrap();
        for step in 0..2 * (gpus - 1) {
            let kind = match step {
                0 => "s",
                _ if step < gpus - 1 => "rrs",
                _ if step == gpus - 1 => "rrcs",
                _ => "rcs",
            };
            writeln!(xml, "<step s=\"{step}\" type=\"{kind}\" cnt=\"1\" depid=\"-1\" deps=\"-1\"/>").unwrap();
        }
        let last = 2 * (gpus - 1);
        writeln!(xml, "<step s=\"{last}\" type=\"r\" cnt=\"1\" depid=\"-1\" deps=\"-1\"/>\n</tb>\n</gpu>")
            .unwrap();
    }
    xml + "</algo>\n"
}

#[test]
fn msccl_algorithms_become_messages() {
    let buffer = Buffer { bytes: 8000, reduce_ps_per_byte: 0.0 };
    let graph = msccl::read(&ring_xml(8), "ring.xml", buffer).unwrap();
    assert_eq!(graph.messages(), (8 * 14, 8 * 14 * 1000));
    let summing = Buffer { reduce_ps_per_byte: 2.0, ..buffer };
    let graph = msccl::read(&ring_xml(8), "ring.xml", summing).unwrap();
    assert_eq!(end_ps(&graph), 14 * 1_010_000 + 7 * 2000);
    let refused = |from: &str, to: &str| {
        let error = msccl::read(&ring_xml(2).replacen(from, to, 1), "ring.xml", buffer).unwrap_err();
        (error.position, error.problem)
    };
    assert_eq!(
        refused("send=\"1\"", "send=\"5\""),
        ("ring.xml:3".to_owned(), "attribute send: 5; numbers end at 1".to_owned())
    );
    assert_eq!(refused("type=\"s\"", "type=\"x\"").0, "ring.xml:4");
    assert!(refused("depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"1\"").1.contains("step 1 of block 3"));
    assert!(refused("</tb>", "").1.contains("no XML"));
    let few = msccl::read(&ring_xml(8), "ring.xml", Buffer { bytes: 7, ..buffer }).unwrap_err();
    assert!(few.hint.contains("at least 8 bytes"), "{few}");
}

#[test]
fn connection_matrices_become_messages_with_triggers() {
    let text = "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 5 size 1000 send_done_trigger 1\n\
                2->3 id 2 start 0 size 2000 send_done_trigger 1\n1->2 id 3 trigger 1 size 10\ntrigger id 1 count 2 barrier\n";
    let graph = connection_matrix::read(text, "m.cm").unwrap();
    assert_eq!(end_ps(&graph), 5_000_000 + 1_010_000 + 1_000_100);
    let refused = |from: &str, to: &str| {
        let error = connection_matrix::read(&text.replacen(from, to, 1), "m.cm").unwrap_err();
        (error.position, error.problem)
    };
    assert_eq!(refused("1->2", "1->9"), ("m.cm:6".to_owned(), "node 9 of 4".to_owned()));
    assert_eq!(refused("Connections 3", "Connections 4").0, "m.cm:2");
    assert_eq!(
        refused("count 2", "count 3"),
        ("m.cm:7".to_owned(), "trigger 1 is activated 2 times".to_owned())
    );
    assert_eq!(refused("trigger id 1 count 2 barrier\n", "").1, "trigger 1 is not there");
    assert_eq!(refused("size 10\n", "\n").0, "m.cm:6");
    assert_eq!(refused("start 5 ", "").0, "m.cm:4");
}

fn read(body: &str) -> Result<Graph, WorkError> {
    goal::read_text(body, "w.goal")
}

#[test]
fn goal_errors_name_line_and_hint() {
    let of = |line: &str| {
        let error = read(&format!("num_ranks 2\nrank 0 {{\na: calc 5\n{line}\n}}\n")).unwrap_err();
        assert_eq!(error.position, "w.goal:4", "{line}: {error}");
        assert!(!error.hint.is_empty());
        error.problem
    };
    assert_eq!(of("send 10 to 1 tag 0"), "size `10`");
    assert_eq!(of("send 1.5b to 1"), "`1.5` is not a size in bytes");
    assert_eq!(of("send 10b to 2 tag 0"), "rank 2 of 2 ranks");
    assert_eq!(of("send 10b to -1 tag 0"), "`-1` is not a rank");
    assert_eq!(of("send 0b to 1 tag 0"), "a message of 0 bytes");
    assert_eq!(of("calc 5 nic 1"), "`nic` after an operation");
    assert_eq!(of("calc 5 // after"), "`//` after an operation");
    assert_eq!(of("recv 5b from 1 cpu 1 tag 3"), "`tag` after an operation");
    assert_eq!(of("calc 5 cpu 256"), "`256` is not a processor below 256");
    assert_eq!(of("a requires b"), "no label `b` yet");
    assert_eq!(of("a: calc 9"), "label `a` twice");
    assert_eq!(of("sleep 9"), "`sleep 9` is no operation");
    assert_eq!(read("rank 0 {\n}\n").unwrap_err().position, "w.goal:1");
    assert_eq!(read("num_ranks 1\nrank 0 {\n").unwrap_err().problem, "the file ends within rank 0");
    assert_eq!(read("num_ranks 1\nrank 1 {\n").unwrap_err().problem, "rank 1 of 1 ranks");
}

#[test]
fn graphs_that_cannot_end_are_refused_where_they_are_wrong() {
    let of = |zero: &str, one: &str| {
        let body = format!("num_ranks 2\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\n");
        let error = read(&body).unwrap().check().unwrap_err();
        (error.position, error.problem)
    };
    let unmatched = of("recv 9b from 1 tag 4", "calc 1");
    assert_eq!(unmatched.0, "w.goal:3");
    assert!(
        unmatched.1.contains("waits for a message of rank 1 with tag 4, which nobody sends"),
        "{unmatched:?}"
    );
    let unreceived = of("calc 1", "send 9b to 0 tag 4");
    assert_eq!(unreceived.0, "w.goal:6");
    assert!(unreceived.1.contains("rank 0 never receives"), "{unreceived:?}");
    let circle = of("a: calc 1\nb: calc 1\nc: calc 1\nc requires a\na requires b\nb requires a", "calc 1");
    assert!(circle.0 == "w.goal:3" || circle.0 == "w.goal:4", "{circle:?}");
    assert!(circle.1.contains("requires itself"), "{circle:?}");
    // Each waits for the other's message before it sends its own: found by executing it.
    let waiting = "a: recv 9b from 1 tag 0\nb: send 9b to 1 tag 0\nb requires a";
    let locked = of(waiting, &waiting.replace('1', "0"));
    assert_eq!(locked.0, "w.goal:3");
    assert!(locked.1.contains("waits forever"), "{locked:?}");
    let wild = of("recv 9b from -1 tag 1\nrecv 9b from 1 tag -1", "send 9b to 0 tag 2\nsend 9b to 0 tag 3");
    assert!(wild.1.contains("waits forever"), "{wild:?}");
}

#[test]
fn a_cut_binary_names_the_byte_at_which_it_ends() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/goal/irequires_2.bin");
    let whole = std::fs::read(path).unwrap();
    for end in 0..whole.len() {
        let error = goal::read_binary(&whole[..end], "w.bin").unwrap_err();
        let byte: usize = error.position.strip_prefix("w.bin: byte ").unwrap().parse().unwrap();
        assert!(
            byte <= end && error.problem.contains("the end") || error.problem.contains("the file ends"),
            "{error}"
        );
    }
    let mut damaged = whole.clone();
    damaged[0] ^= 1;
    assert!(goal::read_binary(&damaged, "w.bin").unwrap_err().problem.contains("4223"));
    // The type of the first node.
    damaged = whole;
    let kind = 8 + 38 + 12 + 4;
    assert_eq!(std::mem::replace(&mut damaged[kind], 7), 3);
    assert_eq!(goal::read_binary(&damaged, "w.bin").unwrap_err().position, format!("w.bin: byte {kind}"));
}

/// Iterations: a rank begins the next when it has ended its own part of the one before, and messages stay in their step.
#[test]
fn repeated_work_takes_its_time_times_over() {
    let once =
        read("num_ranks 2\nrank 0 {\nsend 1000b to 1 tag 0\n}\nrank 1 {\nrecv 1000b from 0 tag 0\n}\n")
            .unwrap();
    assert_eq!(end_ps(&once), 1_010_000);
    let repeated = once.repeated(4, 500_000).unwrap();
    assert_eq!(end_ps(&repeated), 4 * 1_510_000);
    let steps: Vec<u32> = repeated.parts().iter().map(|part| part.step).collect();
    assert_eq!(steps, [0, 0, 1, 1, 2, 2, 3, 3]);
    assert!(matches!(repeated.node(0).act, Act::Calc { ps: 500_000 }));
}
