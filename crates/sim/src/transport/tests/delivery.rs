//! Delivery over any network that stops misbehaving: all bytes arrive, and the sender ends idle.

use super::*;
use crate::transport::{ReceivingHalf, SendingHalf};
use proptest::prelude::*;

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        2 => (1u64..400).prop_map(|us| Fate::Late(us * US)),
        1 => (1u64..400).prop_map(|us| Fate::Twice(us * US)),
        1 => Just(Fate::Marked(crate::marks::EXPERIENCED)),
    ];
    prop::collection::vec(fate, 0..150)
}

fn settings() -> impl Strategy<Value = Tcp> {
    let control = prop_oneof![
        Just(Control::NewReno),
        any::<bool>().prop_map(|hystart| Control::Cubic { hystart }),
        Just(Control::Dctcp { gain: 1.0 / 16.0 }),
    ];
    let reorder = prop_oneof![
        Just(Reorder::None),
        Just(Reorder::Hold { timeout_ps: 150 * US }),
        Just(Reorder::Flowcell { cell_bytes: 8 * MSS, timeout_ps: 150 * US }),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (control, reorder, flags, 1u32..4, 1u32..12, 3u64..60).prop_map(
        |(control, reorder, (sack, rack, dsack, ecn, handshake), ack_every, initial_window, window)| Tcp {
            control,
            reorder,
            sack,
            rack: rack && sack,
            dsack,
            ecn,
            handshake,
            ack_every,
            initial_window,
            window_max_bytes: window * MSS,
            ..plain()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn every_byte_is_delivered_and_the_sender_ends_idle(
        tcp in settings(),
        fates in fates(),
        writes in prop::collection::vec((1u64..100_000, 0u64..3_000), 1..5),
    ) {
        let mut fates = fates.into_iter();
        let mut wire = Wire::new(tcp, |_| fates.next().unwrap_or(Fate::Arrives));
        let mut written = 0;
        for (i, &(bytes, pause_us)) in writes.iter().enumerate() {
            if i == 0 { wire.start(bytes) } else { wire.write(bytes) }
            written += bytes;
            let end = wire.now_ps + pause_us * US;
            wire.run_until(end);
        }
        let mut steps = 0;
        while wire.step(u64::MAX) {
            steps += 1;
            prop_assert!(steps < 100_000, "it goes on for ever");
        }
        prop_assert!(wire.sender.is_idle());
        prop_assert_eq!(wire.sender.acknowledged(), written);
        prop_assert_eq!(wire.receiver.delivered(), written);
        prop_assert!(wire.deliveries.windows(2).all(|w| w[0].1 < w[1].1));
        let sent = wire.data().map(|(_, p)| u64::from(p.payload_bytes)).sum::<u64>();
        prop_assert_eq!(wire.sender.counters().sent_bytes, sent);
        prop_assert_eq!(wire.sender.counters().sent_packets, wire.data().count() as u64);
        prop_assert!(wire.data().all(|(_, p)| p.payload_bytes > 0 && u64::from(p.payload_bytes) <= MSS));
    }
}
