//! Messages of load balancers in a class of their own.

use crate::network::Network;
use crate::{Class, Framing, Kind, Nic, Packet};
use anabranch_fabric::SwitchSettings;
use anabranch_fabric::topology::LeafSpine;

/// Bytes of messages of switches and hosts, by class of control.
fn waiting(probes_apart: bool) -> [u64; 2] {
    let shape = LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 1, ..LeafSpine::default() };
    let mut fabric = shape.build().unwrap();
    fabric.set_switches(Some(SwitchSettings { probes_apart, ..SwitchSettings::default() }));
    let mut network = Network::new(&fabric, Framing::ETHERNET, &Nic::FIFO, 1);
    let to_spine = (0..).zip(fabric.ports()).find(|(_, port)| port.from == 2 && port.to == 4).unwrap().0;
    let at_host = fabric.ports_of(0)[0];
    let probe = |kind| Packet { kind, frame_bytes: 100, destination: 1, ..Packet::default() };
    network.send_probe(to_spine, probe(Kind::Probe));
    network.send_probe(to_spine, probe(Kind::Probe));
    network.send_host_probe(0, at_host, probe(Kind::HostProbe));
    let classed = network.classed.as_ref().unwrap();
    [Class::Control, Class::SecondControl].map(|class| {
        [to_spine, at_host].map(|port| classed.ports[port as usize].queues.bytes(class as usize)).iter().sum()
    })
}

#[test]
fn probes_travel_apart_where_they_are_told_to() {
    assert_eq!(waiting(false), [300, 0]);
    assert_eq!(waiting(true), [0, 300]);
}
