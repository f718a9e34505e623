//! Ways of answers: those of RDMA that name a packet go back by its value, and credits by all values in turn.

use super::setup::*;
use anabranch_balancers::{Settings, registry};
use anabranch_fabric::{Change, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::{Completion, Recovery, Roce};
use anabranch_sim::transport::uec::{Credits, Uec};

const SPINES: u32 = 8;
const BYTES: u64 = 2_000_000;
const STOP_PS: u64 = 100_000 * PS_PER_US;

/// A link swallows what comes back from the receiver. Whichever it is, an eighth of the answers is lost, and the rest end the
/// message: none of a connection has all its answers there.
#[test]
fn no_path_swallows_all_answers_of_a_connection() {
    // Every eighth answer is missing: by the default for these endless queues, 870 us, the end comes too late.
    let rto_ps = 100 * PS_PER_US;
    let uec = Uec { completion: Completion::Acknowledged, rto_ps, ..Uec::DEFAULT };
    let roce = Roce {
        recovery: Recovery::Selective { rto_low_ps: 100 * PS_PER_US },
        completion: Completion::Acknowledged,
        ..Roce::plain()
    };
    let transports = [
        Transport::Roce(roce),
        Transport::Uec(uec.clone()),
        Transport::Uec(Uec { credits: Some(Credits::DEFAULT), ..uec }),
    ];
    let fabric = leaf_spine(2, SPINES, 1, TEN_GIG);
    for name in ["uec-oblivious", "uec-bitmap", "uec-mixed", "reps"] {
        for transport in &transports {
            for spine in 0..SPINES {
                let back = uplink(2, SPINES, 1, 1, spine);
                let settings = Settings {
                    balancing: registry::find(name).unwrap().balancing(),
                    changes: vec![Change { at_ps: 0, what: What::PortLoss(back, 1.0) }],
                    end_ps: STOP_PS,
                    ..settings(transport.clone())
                };
                let outcome = run(&fabric, &[flow(0, 1, BYTES, 0)], &settings);
                let record = &outcome.flows[0];
                assert!(record.fct_ps < STOP_PS, "{name}, spine {spine}, {transport:?}: {record:?}");
            }
        }
    }
}
