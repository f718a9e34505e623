//! Readers of files: what other programs decoded, errors with place and hint, damage.

use anabranch_work::connection_matrix::{Settings, StartUnit};
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::msccl::Buffer;
use anabranch_work::{Act, Graph, WorkError, connection_matrix, goal, msccl};
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub(crate) fn golden() -> Option<PathBuf> {
    std::env::var_os("ANABRANCH_GOLDEN").map(PathBuf::from)
}

pub(crate) fn end_ps(graph: &Graph) -> u64 {
    graph.check().unwrap();
    let times = run(graph, &mut AlphaBeta { alpha_ps: 1_000_000, beta_ps: 10.0 });
    times.iter().map(|node| node.end_ps).max().unwrap()
}

/// Starts in microseconds, and nothing without end.
const PLAIN: Settings = Settings { start_unit: Some(StartUnit::Microseconds), endless_bytes: 0 };

/// Files of htsim are read where they are.
#[test]
fn matrices_of_htsim_are_read() {
    let Some(folder) = golden().map(|golden| golden.join("uec/cm")) else { return };
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let graph = connection_matrix::read(&std::fs::read_to_string(&path).unwrap(), &name, PLAIN).unwrap();
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
    let graph = connection_matrix::read(text, "m.cm", PLAIN).unwrap();
    assert_eq!(end_ps(&graph), 5_000_000 + 1_010_000 + 1_000_100);
    let refused = |from: &str, to: &str| {
        let error = connection_matrix::read(&text.replacen(from, to, 1), "m.cm", PLAIN).unwrap_err();
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

/// End of each connection in the order of the file, in nanoseconds.
fn connection_ends_ns(text: &str, settings: Settings) -> Vec<u64> {
    let graph = connection_matrix::read(text, "m.cm", settings).unwrap();
    graph.check().unwrap();
    let times = run(&graph, &mut AlphaBeta { alpha_ps: 1_000_000, beta_ps: 10.0 });
    let sends = (0..graph.nodes().len()).filter(|&node| match graph.node(node as u32).act {
        Act::Send { to, .. } => to != graph.rank_of(node as u32),
        _ => false,
    });
    let mut ends: Vec<_> = sends.map(|node| (graph.nodes()[node].line, times[node].end_ps / 1000)).collect();
    ends.sort_unstable();
    ends.into_iter().map(|(_, end_ns)| end_ns).collect()
}

/// The next connection at each activation, whichever of them comes first.
#[test]
fn a_multishot_trigger_starts_one_connection_at_each_activation() {
    let text = |sizes: [u64; 3], kind: &str| {
        let [first, second, third] = sizes;
        format!(
            "Nodes 4\nConnections 5\nTriggers 1\n0->1 id 1 start 0 size {first} send_done_trigger 1\n\
             0->2 id 2 start 0 size {second} recv_done_trigger 1\n2->1 id 3 start 0 size {third} send_done_trigger 1\n\
             0->3 id 4 trigger 1 size 100\n1->2 id 5 trigger 1 size 100\ntrigger id 1 {kind}\n"
        )
    };
    let ends = |sizes| connection_ends_ns(&text(sizes, "multishot"), PLAIN);
    assert_eq!(ends([10_000, 20_000, 30_000]), [1100, 1200, 1300, 1100 + 1001, 1200 + 1001]);
    // The first connection of the trigger follows the first end, the second the second.
    assert_eq!(ends([30_000, 20_000, 10_000]), [1300, 1200, 1100, 1100 + 1001, 1200 + 1001]);
    assert_eq!(ends([20_000, 20_000, 20_000])[3..], [1200 + 1001; 2], "all at once");
    let barrier = connection_ends_ns(&text([10_000, 20_000, 30_000], "count 3 barrier"), PLAIN);
    assert_eq!(barrier[3..], [1300 + 1001; 2]);
    let refused = |from: &str, to: &str| {
        let text = text([1, 1, 1], "multishot").replace(from, to);
        connection_matrix::read(&text, "m.cm", PLAIN).unwrap_err()
    };
    let few = refused(" send_done_trigger 1", "");
    assert_eq!((&*few.position, &*few.problem), ("m.cm:9", "trigger 1 is activated 1 times"));
    assert!(few.hint.contains("as many as it starts a multishot trigger"), "{few}");
    assert_eq!(refused("multishot", "twoshot").problem, "trigger `twoshot`");
    let steps = connection_matrix::read(&text([10_000, 20_000, 30_000], "multishot"), "m.cm", PLAIN).unwrap();
    // Each step has activations of its own: none of the one before is taken by the next.
    let thrice = end_ps(&steps.repeated(3, 0).unwrap());
    assert!((3 * 2_001_000..=3 * 2_201_000).contains(&thrice), "{thrice}");
}

#[test]
fn starts_are_decimals_of_the_unit_that_is_given() {
    let of = |start: &str, start_unit| {
        let text = format!("Nodes 4\nConnections 1\n0->1 start {start} size 1000\n");
        connection_matrix::read(&text, "m.cm", Settings { start_unit, endless_bytes: 0 })
    };
    let begins_ps = |start: &str, unit| end_ps(&of(start, Some(unit)).unwrap()) - 1_010_000;
    let (us, ps) = (StartUnit::Microseconds, StartUnit::Picoseconds);
    assert_eq!(begins_ps("1500000.0", ps), 1_500_000);
    assert_eq!(begins_ps("1500000.000000", us), 1_500_000_000_000);
    assert_eq!(begins_ps("1.5", us), 1_500_000);
    assert_eq!(begins_ps("0.000001", us), 1);
    assert_eq!(begins_ps("7", ps), 7);
    assert_eq!(begins_ps("0.000000", us), 0);
    for (start, unit) in [
        ("0.0000001", us),
        ("0.5", ps),
        ("-1", us),
        ("1e6", ps),
        (".5", us),
        ("1.2.3", us),
        ("99999999999999999999", ps),
        ("9999999999999999", us),
    ] {
        let error = of(start, Some(unit)).unwrap_err();
        assert_eq!((&*error.position, &*error.problem), ("m.cm:3", &*format!("start {start}")));
    }
    let warnings = |start, unit| of(start, unit).unwrap().warnings().to_vec();
    assert_eq!(
        warnings("1500000.0", None),
        [
            "m.cm: starts are read as microseconds, as main_uec of htsim does, so that the last connection begins after 1500000 us; \
          other programs of htsim read picoseconds: give start_unit = \"us\" or \"ps\""
        ]
    );
    assert!(warnings("0.000000", None).is_empty());
    assert!(warnings("1500000.0", Some(ps)).is_empty());
}

/// Connections of size 0 have no end in htsim.
#[test]
fn connections_without_end_carry_the_size_that_is_given() {
    let text = "Nodes 4\nConnections 2\n0->1 start 0.000000 size 0\n2->3 start 0.000000 size 1000\n";
    let settings = Settings { endless_bytes: 50_000, ..PLAIN };
    assert_eq!(connection_ends_ns(text, settings), [1500, 1010]);
    let graph = connection_matrix::read(text, "m.cm", settings).unwrap();
    assert_eq!(
        graph.warnings(),
        ["m.cm: 1 connections have size 0 and no end in htsim; here each carries 50000 B (`size`)"]
    );
    let activates = text.replace("size 0", "size 0 send_done_trigger 1");
    let error = connection_matrix::read(&activates, "m.cm", settings).unwrap_err();
    assert_eq!(error.problem, "a connection of size 0 has no end that activates a trigger");
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
