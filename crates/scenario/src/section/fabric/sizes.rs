//! Keys of each kind of fabric: counts of its nodes, and the links of its tiers.

use crate::section::link;
use anabranch_fabric::topology::{
    Clos, Dragonfly, Dumbbell, FatTree, LeafSpine, LinkSettings, MultiPlane, RailOptimised, SlimFly, Vl2,
};
use anabranch_form::Form;
use anabranch_form::unit::Count;

/// Counts of nodes and links; how many nodes are too many in all is for the fabric to say.
const MANY: Count = Count { least: 1, most: 65_536 };

const HOST_LINK: &str = "Links between hosts and leaves; keys as below `link`.";
const ROUTER_HOST_LINK: &str = "Links between hosts and routers; keys as below `link`.";
const UPLINK: &str = "Links between switches; keys as below `link`.";

fn hosts_per_leaf(form: &mut impl Form, hosts: &mut u32) {
    form.key("hosts_per_leaf", MANY, hosts, "Hosts of each leaf; in a fat-tree k/2 where it is not given.");
}

fn links_per_host(form: &mut impl Form, links: &mut u32) {
    form.key(
        "links_per_host",
        Count { least: 1, most: 64 },
        links,
        "Links of each host, each to another leaf; 2 is dual ToR. So many neighbouring leaves have the same \
         `hosts_per_leaf` hosts, whose network cards choose among the links; `host_link` is one of them.",
    );
}

pub(super) fn leaf_spine(form: &mut impl Form, shape: &mut LeafSpine, default: LinkSettings) {
    form.key("leaves", MANY, &mut shape.leaves, "Leaf switches: those with hosts.");
    form.key("spines", MANY, &mut shape.spines, "Spine switches.");
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    links_per_host(form, &mut shape.links_per_host);
    form.key(
        "parallel_links",
        MANY,
        &mut shape.parallel_links,
        "Links between each leaf and each spine, each a next hop of its own.",
    );
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn fat_tree(form: &mut impl Form, shape: &mut FatTree, default: LinkSettings) {
    form.key(
        "k",
        Count { least: 2, most: 256 },
        &mut shape.k,
        "Ports of a switch, and number of pods; even. Each pod has k/2 leaves and k/2 aggregations.",
    );
    if shape.hosts_per_leaf == 0 {
        shape.hosts_per_leaf = shape.k / 2;
    }
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    links_per_host(form, &mut shape.links_per_host);
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn clos(form: &mut impl Form, shape: &mut Clos, default: LinkSettings) {
    form.key("pods", MANY, &mut shape.pods, "Pods.");
    form.key("leaves_per_pod", MANY, &mut shape.leaves_per_pod, "Leaves of each pod.");
    form.key(
        "aggregations_per_pod",
        MANY,
        &mut shape.aggregations_per_pod,
        "Aggregations of each pod, each linked to every leaf of it.",
    );
    form.key(
        "cores_per_aggregation",
        MANY,
        &mut shape.cores_per_aggregation,
        "Cores above each aggregation; the aggregations of one number in all pods share theirs.",
    );
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    links_per_host(form, &mut shape.links_per_host);
    let core = "Links between aggregations and cores; keys as below `link`.";
    let tiers = [
        ("host_link", &mut shape.host_link, HOST_LINK),
        ("uplink", &mut shape.uplink, UPLINK),
        ("core_link", &mut shape.core_link, core),
    ];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn vl2(form: &mut impl Form, shape: &mut Vl2, default: LinkSettings) {
    form.key("leaves", MANY, &mut shape.leaves, "Leaf switches: those with hosts.");
    form.key("aggregations", MANY, &mut shape.aggregations, "Aggregation switches; even. A leaf has two.");
    form.key(
        "intermediates",
        MANY,
        &mut shape.intermediates,
        "Switches at the top, each linked to every aggregation.",
    );
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    links_per_host(form, &mut shape.links_per_host);
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn dumbbell(form: &mut impl Form, shape: &mut Dumbbell, default: LinkSettings) {
    form.key("hosts_per_side", MANY, &mut shape.hosts_per_side, "Hosts of each of the two switches.");
    let middle = "The link in the middle; keys as below `link`.";
    let tiers =
        [("host_link", &mut shape.host_link, HOST_LINK), ("bottleneck", &mut shape.bottleneck, middle)];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn rail_optimised(form: &mut impl Form, shape: &mut RailOptimised, default: LinkSettings) {
    form.key(
        "segments",
        MANY,
        &mut shape.segments,
        "Segments (scalable units), each with leaves of its own.",
    );
    form.key("servers_per_segment", MANY, &mut shape.servers_per_segment, "Servers of each segment.");
    form.key(
        "accelerators_per_server",
        MANY,
        &mut shape.accelerators_per_server,
        "Accelerators of each server: hosts, numbered server by server. Number i of a server hangs on leaf (rail) i of \
         its segment.",
    );
    form.key("spines", MANY, &mut shape.spines, "Spine switches, each linked to every leaf.");
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
    let scale_up = "Links between accelerators and their server's scale-up switch; keys as below `link`.";
    form.table("scale_up", scale_up, |form| link::visit(form, &mut shape.scale_up));
}

pub(super) fn multi_plane(form: &mut impl Form, shape: &mut MultiPlane, default: LinkSettings) {
    form.key(
        "planes",
        MANY,
        &mut shape.planes,
        "Planes: leaf-spine fabrics that meet in the hosts' network cards only. A card has a port in each.",
    );
    form.key("leaves", MANY, &mut shape.leaves, "Leaf switches of each plane.");
    form.key("spines", MANY, &mut shape.spines, "Spine switches of each plane.");
    form.key(
        "hosts_per_leaf",
        MANY,
        &mut shape.hosts_per_leaf,
        "Hosts of each leaf, the same in every plane.",
    );
    let ports = "Links between network cards and leaves, one of each host and plane: a host has the rate of all of them; \
                 keys as below `link`.";
    let tiers = [("host_link", &mut shape.host_link, ports), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn dragonfly(form: &mut impl Form, shape: &mut Dragonfly, default: LinkSettings) {
    form.key(
        "routers_per_group",
        MANY,
        &mut shape.routers_per_group,
        "Routers of each group, each linked to every other of it; `a` of the paper.",
    );
    form.key(
        "hosts_per_router",
        MANY,
        &mut shape.hosts_per_router,
        "Hosts of each router; `p` of the paper.",
    );
    form.key(
        "global_links_per_router",
        MANY,
        &mut shape.global_links_per_router,
        "Links of each router to other groups; `h` of the paper.",
    );
    if shape.groups == 0 {
        shape.groups = shape.most_groups();
    }
    form.key(
        "groups",
        MANY,
        &mut shape.groups,
        "Groups; the most there can be, routers_per_group x global_links_per_router + 1, where it is not given. With \
         fewer, each pair of groups has as many links as all pairs can have.",
    );
    let local = "Links between the routers of a group; keys as below `link`.";
    let global = "Links between groups; keys as below `link`.";
    let tiers = [
        ("host_link", &mut shape.host_link, ROUTER_HOST_LINK),
        ("local_link", &mut shape.local_link, local),
        ("global_link", &mut shape.global_link, global),
    ];
    link::visit_tiers(form, default, tiers);
}

pub(super) fn slim_fly(form: &mut impl Form, shape: &mut SlimFly, default: LinkSettings) {
    form.key(
        "q",
        MANY,
        &mut shape.q,
        "Order of the field, an odd prime: 2 q^2 routers, each with (3 q - 1) / 2 links to others where q = 4 w + 1, and \
         (3 q + 1) / 2 where q = 4 w - 1.",
    );
    shape.hosts_per_router = shape.hosts_of_router();
    form.key(
        "hosts_per_router",
        MANY,
        &mut shape.hosts_per_router,
        "Hosts of each router; half of its links to others, rounded up, where it is not given, `p` of the paper.",
    );
    let tiers = [
        ("host_link", &mut shape.host_link, ROUTER_HOST_LINK),
        ("router_link", &mut shape.router_link, "Links between routers; keys as below `link`."),
    ];
    link::visit_tiers(form, default, tiers);
}
