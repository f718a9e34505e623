// Next hops in turn: a switch keeps, for each pair of leaves, a list of ports and a counter of the pair's packets.
//
// A packet's pair is told by its addresses. The register holds the turn of the pair's next packet; a turn beyond the
// list's end, which an earlier and longer list has left, is the first. Frames leave as they came: neither addresses nor
// the time to live change. What no entry names is dropped, and so is all that is not IPv4. Leaves and lists are numbered
// from 1; 0 is none.
//
// v1model (p4c-bm2-ss). Identifiers are fixed by @id, so that entries written for one compilation fit the next.

#include <core.p4>
#include <v1model.p4>

const bit<16> IPV4 = 0x0800;

typedef bit<9> port_t;
typedef bit<16> leaf_t;
typedef bit<16> list_id_t;
typedef bit<16> turn_t;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  length_words;
    bit<8>  service;
    bit<16> length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment;
    bit<8>  time_to_live;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    leaf_t source;
    leaf_t destination;
    list_id_t list_id;
    turn_t turn;
}

parser Read(packet_in packet, out headers_t headers, inout metadata_t own, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t headers, inout metadata_t own) {
    apply { }
}

control Turns(inout headers_t headers, inout metadata_t own, inout standard_metadata_t standard) {
    @id(0x16000001) @name("counters")
    register<turn_t>(16384) counters;

    @id(0x01000001) @name("drop")
    action drop() {
        mark_to_drop(standard);
    }

    @id(0x01000002) @name("send")
    action send(port_t port) {
        standard.egress_spec = port;
    }

    @id(0x01000003) @name("from_leaf")
    action from_leaf(leaf_t leaf) {
        own.source = leaf;
    }

    @id(0x01000004) @name("to_leaf")
    action to_leaf(leaf_t leaf) {
        own.destination = leaf;
    }

    @id(0x01000005) @name("take_turn")
    action take_turn(list_id_t list_id, turn_t turns) {
        turn_t next;
        // Packets that are processed at the same time must not read the same turn.
        @atomic {
            counters.read(next, (bit<32>)list_id);
            own.turn = next < turns ? next : 0;
            counters.write((bit<32>)list_id, own.turn + 1);
        }
        own.list_id = list_id;
    }

    // Hosts of this switch.
    @id(0x02000001) @name("hosts")
    table hosts {
        key = { headers.ipv4.destination : lpm @name("address"); }
        actions = { send; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 16384;
    }

    @id(0x02000002) @name("sources")
    table sources {
        key = { headers.ipv4.source : lpm @name("address"); }
        actions = { from_leaf; @defaultonly drop; }
        const default_action = drop();
        size = 16384;
    }

    @id(0x02000003) @name("destinations")
    table destinations {
        key = { headers.ipv4.destination : lpm @name("address"); }
        actions = { to_leaf; @defaultonly drop; }
        const default_action = drop();
        size = 16384;
    }

    // One less than the register has room for: its first counter is of no list.
    @id(0x02000004) @name("pairs")
    table pairs {
        key = {
            own.source      : exact @name("source");
            own.destination : exact @name("destination");
        }
        actions = { take_turn; @defaultonly drop; }
        const default_action = drop();
        size = 16383;
    }

    @id(0x02000005) @name("turns")
    table turns {
        key = {
            own.list_id : exact @name("list_id");
            own.turn    : exact @name("turn");
        }
        actions = { send; @defaultonly drop; }
        const default_action = drop();
        size = 131072;
    }

    apply {
        if (!headers.ipv4.isValid()) {
            drop();
        } else if (!hosts.apply().hit) {
            sources.apply();
            destinations.apply();
            pairs.apply();
            turns.apply();
        }
    }
}

control Leave(inout headers_t headers, inout metadata_t own, inout standard_metadata_t standard) {
    apply { }
}

control Sum(inout headers_t headers, inout metadata_t own) {
    apply { }
}

control Write(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(Read(), Verify(), Turns(), Leave(), Sum(), Write()) main;
