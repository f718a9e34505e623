//! Pause frames as tshark reads them. Skipped if tshark is not installed.

use super::simulated::*;
use super::tshark::{complaints, tshark};
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Fabric, SharedBuffer, SwitchSettings};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::{Class, Kind};

fn lossless() -> Fabric {
    let mut fabric =
        LeafSpine { leaves: 1, spines: 1, hosts_per_leaf: 4, parallel_links: 1, ..LeafSpine::default() }
            .build()
            .unwrap();
    let mut switches = SwitchSettings { shared: Some(SharedBuffer::default()), ..SwitchSettings::default() };
    switches.classes[Class::Data as usize].lossless = true;
    fabric.set_switches(Some(switches));
    fabric
}

/// Three hosts send to one: the leaf pauses them, and ends each pause. It does so for class 2, data, in units of 51.2 ns.
#[test]
fn a_leaf_pauses_its_senders() {
    let fabric = lossless();
    let settings = settings(vec![Transport::Roce(Roce::plain())], &[3]);
    let flows: Vec<_> = (1..4).map(|host| flow(host, 0, 3_000_000)).collect();
    let captures = captures(&fabric, &flows, &settings);
    let fields = [
        "eth.dst",
        "eth.src",
        "frame.len",
        "macc.opcode",
        "macc.cbfc.enbv",
        "macc.cbfc.pause_time.c2",
        "macc.cbfc.pause_time.c3",
        "frame.interface_name",
    ];
    let pauses: Vec<_> = captures.iter().filter(|capture| capture.packet.kind == Kind::Pause).collect();
    let begins = pauses.iter().filter(|capture| capture.packet.seq > 0).count();
    assert!(begins > 0 && begins < pauses.len(), "{begins} of {}", pauses.len());
    let Some(rows) = tshark(&fabric, &captures, &fields) else { return };
    for (row, capture) in rows.iter().zip(&captures).filter(|(_, c)| c.packet.kind == Kind::Pause) {
        let quanta = capture.packet.seq.div_ceil(51_200).to_string();
        let expected =
            ["01:80:c2:00:00:01", "02:01:00:00:00:03", "60", "0x0101", "0x0004", &quanta, "0", "leaf0>host1"];
        assert_eq!(row[..], expected);
    }
    assert_eq!(complaints(&fabric, &captures).unwrap(), []);
}
