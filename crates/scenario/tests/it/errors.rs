//! Every way to be wrong, and the whole message.

use anabranch_scenario::Scenario;
use std::path::Path;

/// Traffic enough for a scenario.
const TRAFFIC: &str = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";

/// The one text that is meant to lack it.
const BARE: &str = "seed = 1";

fn message(text: &str, overrides: &[(String, String)]) -> String {
    // Added behind the text: its lines stay as they are.
    let whole =
        if text.contains("traffic") || text == BARE { text.to_owned() } else { format!("{text}\n{TRAFFIC}") };
    let scenario = Scenario::parse(&whole, "s.toml", overrides);
    scenario
        .and_then(|scenario| scenario.resolve(Path::new(""))?.flows())
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[test]
fn messages_name_the_line_the_key_the_value_and_the_mend() {
    for (text, expected) in [
        ("seed = 1\nsead = 2", "s.toml:2: sead: unknown key; did you mean `seed`?"),
        ("sead = 2", "s.toml:1: sead: unknown key; did you mean `seed`?"),
        ("seed = -1", "s.toml:1: seed: `-1` is out of range; give a whole number, at least 0"),
        ("seed = 1.5", "s.toml:1: seed: `1.5` is not a valid value; give a whole number, at least 0"),
        (
            "seed = 99999999999999999999",
            "s.toml:1: seed: `99999999999999999999` is out of range; give a whole number, at least 0",
        ),
        (
            "seed = ",
            "s.toml:1: not TOML: string values must be quoted, expected literal string; see the syntax at https://toml.io",
        ),
        ("seed = 1\nseed = 2", "s.toml:2: seed: duplicate key; keep one of the two, or rename one"),
        (
            "[fabric]\nleaves = 2\n\n[fabric]\nspines = 2",
            "s.toml:4: fabric: duplicate key; keep one of the two, or rename one",
        ),
        (
            "[fabric]\nlink.rate = \"1 Gbps\"\nlink.rate = \"2 Gbps\"",
            "s.toml:3: rate: duplicate key; keep one of the two, or rename one",
        ),
        (
            "[routing]\nweights = { \"leaf0>spine0\" = 0, \"leaf0>spine1\" = 0 }\n[fabric]\nspines = 2",
            "s.toml:2: routing.weights: leaf0: all of its next hops to some leaf weigh 0, so nothing gets there; give one of them a weight above 0",
        ),
        (
            "[fabric]\nkind = \"dragonfly\"\ngroups = 10",
            "s.toml:3: fabric.groups: 10; give at most routers_per_group x global_links_per_router + 1 = 9",
        ),
        (
            "[fabric]\nkind = \"multi-plane\"\nplanes = 20000",
            "s.toml:3: fabric.planes: 20000: the links of a host carry 200000000000000 bps together; they can have \
             100000000000000 bps in all",
        ),
        (
            "[fabric]\nkind = \"graph\"\n[[fabric.node]]\nname = \"h0\"\n[[fabric.node]]\nname = \"h0\"\n[[fabric.edge]]\nfrom = \"h0\"\nto = \"s\"\n[[fabric.edge]]\nfrom = \"h1\"\nto = \"s\"",
            "s.toml:1: fabric: node h0: two nodes have this name; give every node a name of its own",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nduration = \"1 s\"",
            "s.toml:1: traffic.0: `duration` and `flows` both say how many arrive; give one of `duration` and `flows`",
        ),
        (
            "[routing]\nbalance = \"dbb\"\nmutation = \"block\"",
            "s.toml:3: routing.mutation: `block` is unknown; did you mean `blocks`?",
        ),
        (
            "[routing]\nbalance = \"dbb\"\nmutation = \"culprits-move\"",
            "s.toml:3: routing.mutation: `culprits-move` breaks tdlb, and another load balancer runs; known here: random-order, blocks, random, bandwidths-ignored",
        ),
        (
            "[routing]\nbalance = \"random\"\nmutation = \"gravity-equal\"",
            "s.toml:3: routing.mutation: `gravity-equal` breaks valo, clove+valo, vms+valo, and another load balancer runs; leave the key out: no mechanism of this load balancer can be broken on purpose",
        ),
        ("[routing]\ndelay = 5", "s.toml:2: routing.delay: `5` has no unit; give a time such as \"12 us\""),
        (
            "[routing]\ndelay = \"5\"",
            "s.toml:2: routing.delay: `5` has no unit; give a time such as \"12 us\"",
        ),
        (
            "[routing]\ndelay = \"5 sec\"",
            "s.toml:2: routing.delay: `5 sec`: the unit `sec` is unknown; known here: s, ms, us, ns, ps",
        ),
        (
            "[routing]\ndelay = \"0.5 ps\"",
            "s.toml:2: routing.delay: `0.5 ps` is no whole number of picoseconds below 2^63; give a time such as \"12 us\"",
        ),
        (
            "[routing]\nbalance = \"ecpm\"",
            "s.toml:2: routing.balance: `ecpm` is unknown; did you mean `ecmp`?",
        ),
        (
            "[routing]\nbalance = \"wino\"\nscheme = { slice_min = \"2 Gbps\", slice_max = \"1 Gbps\" }",
            "s.toml:3: routing.scheme.slice_max: it is below slice_min; raise it, or lower slice_min",
        ),
        (
            "[routing]\nbalance = \"letflow\"\ngap = \"1.5 ns\"",
            "s.toml:3: routing.gap: `1.5 ns` is finer than a nanosecond; give whole nanoseconds",
        ),
        (
            "[routing]\nweights = \"fair\"",
            "s.toml:2: routing.weights: `fair` is not a valid value; give \"equal\", \"capacity\" or weights of ports such as { \"leaf0>spine0\" = 4, \"leaf0>spine1\" = 3 }",
        ),
        (
            "[routing]\nweights = { \"leaf0>spine1\" = -4 }",
            "s.toml:2: routing.weights: \"leaf0>spine1\": `-4` is out of range; give a whole number from 0 to 4294967295",
        ),
        (
            "[transport]\nkind = \"tcp\"\ngain = 0.5",
            "s.toml:2: transport.kind: `tcp` is unknown; known here: dctcp, newreno, cubic, mptcp, udp, roce, uec",
        ),
        (
            "[transport]\nkind = \"cubic\"\ngain = 0.5",
            "s.toml:3: transport.gain: unknown key; known here: kind, hystart, initial_window, window_max, sack, dup_ack_threshold, rack, dsack, ack_every, min_rto, initial_rto, max_rto, ack_delay, ecn, handshake, persistent, reorder",
        ),
        (
            "[transport]\ndsack = true",
            "s.toml:2: transport.dsack: only a sender that detects losses by time learns of duplicates; add rack = true, and leave sack as it is",
        ),
        (
            "[transport]\ngain = 2",
            "s.toml:2: transport.gain: `2` is out of range; give a number above 0, at most 1",
        ),
        (
            "[transport]\nmin_rto = \"2 min\"\ninitial_rto = \"1 s\"",
            "s.toml:2: transport.min_rto: `2 min`: the unit `min` is unknown; known here: s, ms, us, ns, ps",
        ),
        (
            "[transport]\nkind = \"udp\"",
            "s.toml:1: transport.rate: missing (rate of frames on the link); give a rate such as \"10 Gbps\"",
        ),
        (
            "[transport]\nkind = \"udp\"\nrate = \"101 Tbps\"",
            "s.toml:3: transport.rate: `101 Tbps` is out of range; give a rate from \"64 kbps\" to \"100 Tbps\"",
        ),
        (
            "[transport]\nkind = \"mptcp\"\nsubflows = 0",
            "s.toml:3: transport.subflows: `0` is out of range; give a whole number from 1 to 64",
        ),
        (
            "[transport]\nkind = \"mptcp\"\ncoupling = \"olia\"",
            "s.toml:3: transport.coupling: `olia` is unknown; did you mean `lia`?",
        ),
        (
            "[transport]\nkind = \"uec\"\ncontrol = \"rcc\"",
            "s.toml:3: transport.control: `rcc` is unknown; did you mean `rccc`?",
        ),
        (
            "[transport]\nkind = \"uec\"\ncontrol = \"rccc\"\ngrant = \"1000 B\"",
            "s.toml:4: transport.grant: 1000 B is not a multiple of 256 B, the unit of credit; give a size such as \"16384 B\"",
        ),
        (
            "[transport]\nkind = \"uec\"\ngrant = \"1024 B\"",
            "s.toml:3: transport.grant: unknown key; known here: kind, control, target, first_window, quick_gate, ack_bytes, rto, queue_pairs, queue_pair_mode, source_ports, persistent, completion, answer",
        ),
        ("[transport]\nsack = 1", "s.toml:2: transport.sack: `1` is not a valid value; give true or false"),
        (
            "[framing]\nmss = \"1 MB\"",
            "s.toml:2: framing.mss: `1 MB` is out of range; give a size from \"1 B\" to \"60 KB\"",
        ),
        (
            "[[change]]\nat = \"0 s\"",
            "s.toml:1: change.0: it is not said what happens; give one of `set`, `rate`, `loss`, `blackhole`",
        ),
        (
            "[[change]]\nlink = \"a-b\"",
            "s.toml:1: change.0: it is not said what happens; give one of `set`, `rate`, `loss`, `blackhole`",
        ),
        (
            "[[change]]\nlink = \"a-b\"\nblackhole = 0.5",
            "s.toml:2: change.0.link: a link cannot be a blackhole; name a `switch`, or give `loss`",
        ),
        (
            "[[change]]\nlink = \"a-b\"\nset = \"dwon\"",
            "s.toml:3: change.0.set: `dwon` is unknown; did you mean `down`?",
        ),
        (
            "[[change]]\nlink = \"a-b\"\nloss = 7",
            "s.toml:3: change.0.loss: `7` is out of range; give a number from 0 to 1",
        ),
        (
            "[record]\ninterval = 1979-05-27",
            "s.toml:2: record.interval: the date `1979-05-27` is not a valid value; give a time such as \"12 us\"",
        ),
        (
            "[record]\nqueues = [1]",
            "s.toml:2: record.queues: `1` is not a valid value; give a port such as \"leaf0>spine1\", or a node for all of its ports",
        ),
        (
            "routing = 1",
            "s.toml:1: routing: it is `1`; write its keys as routing = { key = value, ... } or below [routing]",
        ),
        ("change = 1", "s.toml:1: change: it is `1`; begin each entry with [[change]]"),
        ("name = \"\"", "s.toml:1: name: `` is not a valid value; give a name"),
        (
            "name = \"a",
            "s.toml:1: not TOML: invalid basic string, expected `\"`; see the syntax at https://toml.io",
        ),
        (
            "[fabric]\nlink = { rate = 10 }",
            "s.toml:2: fabric.link.rate: `10` has no unit; give a rate such as \"10 Gbps\"",
        ),
        (
            "[fabric]\nlink = { rate = \"10 GB\" }",
            "s.toml:2: fabric.link.rate: `10 GB`: the unit `GB` is unknown; known here: Tbps, Gbps, Mbps, kbps, bps",
        ),
        (
            "[fabric]\nuplink.buffer = \"200\"",
            "s.toml:2: fabric.uplink.buffer: `200` has no unit; give room such as \"300 KB\" or \"200 packets\", or \"unlimited\"",
        ),
        (
            "[fabric]\nuplink.buffer = \"300 packet\"\nuplink.ecn = \"65 pakets\"",
            "s.toml:3: fabric.uplink.ecn: `65 pakets`: the unit `pakets` is unknown; give a threshold such as \"65 packets\" or \"97 KB\", \"off\", or RED's { low = \"30 KB\", high = \"90 KB\", probability = 0.1 }",
        ),
        (
            "[fabric]\nuplink.ecn = { low = \"9 KB\", high = \"3 KB\", probability = 1 }",
            "s.toml:2: fabric.uplink.ecn: low is \"9 KB\", high is \"3 KB\": no ramp; give a high above the low",
        ),
        (
            "[fabric]\nuplink.ecn = { low = \"9 KB\", probability = 1 }",
            "s.toml:2: fabric.uplink.ecn: `high` is missing; give a threshold such as \"65 packets\" or \"97 KB\", \"off\", or RED's { low = \"30 KB\", high = \"90 KB\", probability = 0.1 }",
        ),
        (
            "[fabric]\nuplink.ecn = { lo = \"9 KB\" }",
            "s.toml:2: fabric.uplink.ecn: unknown key `lo`; did you mean `low`?",
        ),
        (
            "[fabric]\nkind = \"leafspine\"",
            "s.toml:2: fabric.kind: `leafspine` is unknown; did you mean `leaf-spine`?",
        ),
        (
            "[fabric]\nleaves = 0",
            "s.toml:2: fabric.leaves: `0` is out of range; give a whole number from 1 to 65536",
        ),
        ("[fabric]\nleafs = 3", "s.toml:2: fabric.leafs: unknown key; did you mean `leaves`?"),
        (
            "[transport]\nreorder = { hold = 3 }",
            "s.toml:2: transport.reorder: `3` has no unit; give a time such as \"12 us\"",
        ),
        (
            "[transport]\necn = false",
            "s.toml:2: transport.ecn: DCTCP without marks cannot work; set ecn = true, or kind = \"newreno\"",
        ),
        (
            "[transport]\nmin_rto = \"1 s\"\ninitial_rto = \"1 ms\"",
            "s.toml:3: transport.initial_rto: it is not between min_rto and max_rto; make min_rto <= initial_rto <= max_rto",
        ),
        (
            "[transport]\nmin_rto = \"0 s\"",
            "s.toml:2: transport.min_rto: `0 s` would time out at once; give a time such as \"5 ms\"",
        ),
        ("[stop]\nat = \"0 s\"", "s.toml:2: stop.at: `0 s` leaves no time; give a time such as \"10 s\""),
        (
            "a.b.c = 1",
            "s.toml:1: a: unknown key; known here: name, seed, fabric, change, routing, transport, host, traffic, framing, stop, replay, record, measure",
        ),
        (
            "[[change]]\nlink = \"leaf0-spine9\"\nset = \"down\"",
            "s.toml:2: change.0: the fabric has no node `spine9`; did you mean `spine0`?",
        ),
        (
            "[[change]]\nlink = \"leaf0\"\nset = \"down\"",
            "s.toml:2: change.0: `leaf0` is no link; write it as \"leaf0-spine1\", or as \"leaf0>spine1\" for one direction",
        ),
        (
            "[[change]]\nlink = \"leaf0>leaf1\"\nset = \"down\"",
            "s.toml:2: change.0: leaf0 and leaf1 have no link; leaf0 has links to spine0, spine1, spine2, spine3, host0, host1, host2, host3, ...",
        ),
        (
            "[[change]]\nlink = \"leaf0-spine0#1\"\nset = \"down\"",
            "s.toml:2: change.0: `leaf0-spine0#1`: there is no such parallel link; number its parallel links from 0 to 0",
        ),
        (
            "[[change]]\nswitch = \"host3\"\nset = \"down\"",
            "s.toml:2: change.0: host3 is a host; name a switch such as leaf0",
        ),
        (
            "[[change]]\nswitch = \"core\"\nset = \"down\"",
            "s.toml:2: change.0: the fabric has no node `core`; nodes are leaf0, leaf1, leaf2, leaf3, spine0, spine1, spine2, spine3",
        ),
        (
            "[routing]\nweights = { \"leaf0-spine0\" = 1 }",
            "s.toml:2: routing.weights: `leaf0-spine0` is not one direction of a link; write it as \"leaf0>spine1\"",
        ),
        (
            "[routing]\nweights = { \"leaf0>spine7\" = 1 }",
            "s.toml:2: routing.weights: the fabric has no node `spine7`; did you mean `spine0`?",
        ),
        (
            "[record]\nqueues = [\"leaf0\", \"leaf0>nowhere\"]",
            "s.toml:2: record.queues: the fabric has no node `nowhere`; nodes are leaf0, leaf1, leaf2, leaf3, spine0, spine1, spine2, spine3",
        ),
        (
            "seed = 1",
            "s.toml: traffic: missing: nothing would be sent; add [[traffic]] with sizes, a load and a duration",
        ),
        (
            "[[traffic]]\nload = 0.5",
            "s.toml:1: traffic.0: it is not said how many arrive; give one of `duration` and `flows`",
        ),
        (
            "[[traffic]]\nduration = \"1 ms\"",
            "s.toml:1: traffic.0: it is not said how often flows arrive; give one of `load` and `flows_per_s`",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows_per_s = 3\nflows = 5",
            "s.toml:1: traffic.0: `load` and `flows_per_s` both say how often flows arrive; give one of `load` and `flows_per_s`",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nrate = \"1 Gb\"",
            "s.toml:4: traffic.0.rate: `1 Gb`: the unit `Gb` is unknown; known here: Tbps, Gbps, Mbps, kbps, bps",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nburst = \"64 KB\"",
            "s.toml:4: traffic.0.burst: there is no rate at which bursts are written; give `rate` too, or leave `burst` out",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nrate = \"1 Gbps\"\nburst = \"0 B\"",
            "s.toml:5: traffic.0.burst: `0 B` is out of range; give a size from \"1 B\" to \"9223372036854775807 B\"",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nmss = \"1460 B\"",
            "s.toml:4: traffic.0.mss: 1460 B is more than framing.mss, 1448 B; give at most 1448 B, or raise framing.mss",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nrate = \"1 Gbps\"\ntransport = { kind = \"udp\", rate = \"1 Gbps\" }",
            "s.toml:4: traffic.0.rate: UDP has a rate of its own; give the rate in its transport alone",
        ),
        (
            "[transport]\nkind = \"mptcp\"\n[[traffic]]\nload = 0.5\nflows = 5\nrate = \"1 Gbps\"",
            "s.toml:6: traffic.0.rate: MPTCP's connections share what a flow has to send; leave it out, or take a transport of one connection",
        ),
        (
            "[[traffic]]\nload = 0\nflows = 5",
            "s.toml:2: traffic.0.load: `0` is out of range; give a part of the capacity above 0, at most 10, such as 0.6 or \"60 %\"",
        ),
        (
            "[[traffic]]\nload = \"60\"\nflows = 5",
            "s.toml:2: traffic.0.load: `60` is not a valid value; give a part of the capacity above 0, at most 10, such as 0.6 or \"60 %\"",
        ),
        (
            "[[traffic]]\nload = 60\nflows = 5",
            "s.toml:2: traffic.0.load: `60` is out of range; 60 is 60 times the capacity; give \"60 %\" if percent are meant, and `flows_per_s` for more than 10 times",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = \"websearch\"",
            "s.toml:4: traffic.0.sizes: `websearch` is unknown; did you mean `web-search`?",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = \"10 KBytes\"",
            "s.toml:4: traffic.0.sizes: `10 KBytes`: the unit `KBytes` is unknown; known here: GB, MB, KB, B, GiB, MiB, KiB",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = 1500",
            "s.toml:4: traffic.0.sizes: `1500` has no unit; give a size such as \"64 KB\"",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = { least = \"9 B\", most = \"1 B\" }",
            "s.toml:4: traffic.0.sizes: `least` is above `most`; give the smaller size as `least`",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = { file = \"none.csv\" }",
            "s.toml:4: traffic.0.sizes: `none.csv` cannot be read: No such file or directory (os error 2); give a file, relative to the scenario's own",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = { file = \"tests/it/errors.rs\" }",
            "s.toml:4: traffic.0.sizes: tests/it/errors.rs:1: the header has no column `size_bytes`; begin with the line size_bytes,cdf and give a size and the share of flows up to it per row",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nsizes = { file = \"tests/sizes.csv\", digest = \"0\" }",
            "s.toml:4: traffic.0.sizes: `tests/sizes.csv` has the digest 48784a7fca95b6930899ca43737b8bac, not 0; give the file that was meant, or leave `digest` out",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\npattern = \"inter-rak\"",
            "s.toml:4: traffic.0.pattern: `inter-rak` is unknown; did you mean `inter-rack`?",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\npattern = \"inter-pod\"",
            "s.toml:4: traffic.0.pattern: inter-pod in a fabric without two pods; build a fat-tree or another fabric with pods, or choose inter-rack",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\npattern = { stride = 32 }",
            "s.toml:4: traffic.0.pattern: stride 32: of 32 hosts each would send to itself; choose a stride that the number of hosts does not divide",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\npattern = { pairs = [[0, 99]] }",
            "s.toml:4: traffic.0.pattern: pair of hosts 0 and 99; name two different hosts from 0 to 31",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\npattern = { pairs = [0, 1] }",
            "s.toml:4: traffic.0.pattern: `0` is no pair of hosts; write pairs = [[0, 8], [1, 9]]",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\ntransport = { kind = \"udp\" }",
            "s.toml:4: traffic.0.transport.rate: missing (rate of frames on the link); give a rate such as \"10 Gbps\"",
        ),
        (
            "[[traffic]]\nload = 0.5\nflows = 5\nstart = \"11 s\"\n[stop]\nat = \"10 s\"",
            "s.toml:6: stop.at: \"10 s\" is before flow 0 begins; set it beyond \"11000586103 ns\", or ask for fewer flows",
        ),
        (
            "[[traffic]]\nkind = \"incast\"\njobs = 5\nservers = 40",
            "s.toml:4: traffic.0.servers: 40 in a fabric of 32 hosts; ask for 1 to 31 servers: all hosts but the client",
        ),
        (
            "[[traffic]]\nkind = \"incast\"\njobs = 5\nload = 0.5\njobs_per_s = 7",
            "s.toml:5: traffic.0.jobs_per_s: unknown key; known here: kind, servers, response, load, clients, duration, jobs, start, rate, burst, mss, transport",
        ),
        (
            "[[traffic]]\nkind = \"ring-all-reduce\"",
            "s.toml:1: traffic.0.workers: missing (the ring of hosts); give a whole number from 0 to 4294967295, or a list of such",
        ),
        (
            "[[traffic]]\nkind = \"ring-all-reduce\"\nworkers = [3]",
            "s.toml:3: traffic.0.workers: a ring of 1; name two workers or more",
        ),
        (
            "[[traffic]]\nkind = \"parameter-server\"\nworkers = [1, 2]\nservers = [2]",
            "s.toml:4: traffic.0.servers: host 2; name hosts from 0 to 31, each once",
        ),
        (
            "[[traffic]]\nkind = \"flow-list\"\nfile = \"tests/it/errors.rs\"",
            "s.toml:3: traffic.0.file: tests/it/errors.rs:1: the header has no column `id`; begin the list with the line id,src,dst,size_bytes,start_ns and, if flows are pinned, path; if ports are given, src_port and dst_port",
        ),
        (
            "[[traffic]]\nkind = \"capture\"\nfile = \"tests/it/errors.rs\"",
            "s.toml:3: traffic.0.file: tests/it/errors.rs: not a capture: it begins with the text \"//! Ever\"; pcap and pcapng are read, plain or compressed with gzip or zstd",
        ),
        (
            "[fabric]\nkind = \"fat-tree\"\nk = 5\n[[traffic]]\nload = 0.5\nflows = 5",
            "s.toml:3: fabric.k: 5; give an even number of ports, 2 or more",
        ),
        (
            "[fabric]\nleaves = 60000\nhosts_per_leaf = 60000\n[[traffic]]\nload = 0.5\nflows = 5",
            "s.toml:1: fabric: 3600060004 nodes; build one of at most 1048576 nodes",
        ),
        (
            "name = \"../a\"",
            "s.toml:1: name: no name of a folder; leave out slashes, and dots at the beginning",
        ),
    ] {
        assert_eq!(message(text, &[]), expected, "{text}");
    }
}

#[test]
fn messages_name_the_override() {
    for (key, value, expected) in [
        ("seed", "x", "-o seed=x: seed: `x` is not a valid value; give a whole number, at least 0"),
        ("seed.a", "1", "-o seed.a=1: seed: a table is not a valid value; give a whole number, at least 0"),
        ("traffics.load", "1", "-o traffics.load=1: traffics: unknown key; did you mean `traffic`?"),
        (
            "record.queues.7.a",
            "1",
            "-o record.queues.7.a=1: record.queues: it is a list of 0, `7` is none of its numbers; number its entries from 0; 0 adds one",
        ),
        (
            "change.2.at",
            "1 s",
            "-o change.2.at=1 s: change: it is a list of 0, `2` is none of its numbers; number its entries from 0; 0 adds one",
        ),
        (
            "fabric.uplink.rate",
            "10",
            "-o fabric.uplink.rate=10: fabric.uplink.rate: `10` has no unit; give a rate such as \"10 Gbps\"",
        ),
        (
            "fabric.uplink.rate",
            "\"1 Gbps",
            "-o fabric.uplink.rate=\"1 Gbps: fabric.uplink.rate: the value is not TOML: invalid basic string, expected `\"`; see the syntax at https://toml.io",
        ),
        ("a..b", "1", "-o a..b=1: `a..b` is no key; join names by dots, as in fabric.link.rate"),
        (
            "fabric.leaves",
            "[1]",
            "-o fabric.leaves=[1]: fabric.leaves: a list is not a valid value; give a whole number from 1 to 65536",
        ),
        (
            "transport.sack",
            "yes",
            "-o transport.sack=yes: transport.sack: `yes` is not a valid value; give true or false",
        ),
        (
            "routing.weights",
            "{ \"leaf0>spine9\" = 2 }",
            "-o routing.weights={ \"leaf0>spine9\" = 2 }: routing.weights: the fabric has no node `spine9`; did you mean `spine0`?",
        ),
    ] {
        assert_eq!(message(TRAFFIC, &[(key.to_owned(), value.to_owned())]), expected, "{key}={value}");
    }
}
