//! Which class is served next.

use super::super::queues::{NOWHERE, Queues, Waiting};
use crate::Class;
use crate::queue::NEVER_PS;
use crate::slab::PacketId;
use anabranch_fabric::{Service, SwitchSettings};
use proptest::prelude::*;

fn frame(frame_bytes: u16) -> Waiting {
    Waiting { id: PacketId(0), ingress: NOWHERE, frame_bytes }
}

/// Sends `frames` of a port whose two classes of data always have something, of these sizes and weights.
fn shares(weights: [f64; 2], sizes: [u16; 2], frames: usize) -> [f64; 2] {
    let mut settings = SwitchSettings::default();
    let data = [Class::Data as usize, Class::SecondData as usize];
    let mut queues = Queues::new();
    for (index, class) in data.into_iter().enumerate() {
        settings.classes[class].service = Service::Weighted(weights[index]);
        queues.push(class, frame(sizes[index]), 0);
        queues.push(class, frame(sizes[index]), 0);
    }
    let mut sent = [0.0; 2];
    for _ in 0..frames {
        let (queue, begun) = queues.begin(&settings, 0).unwrap();
        queues.complete();
        sent[queue - data[0]] += f64::from(begun.frame_bytes);
        queues.push(queue, begun, 0);
    }
    sent
}

proptest! {
    /// Start-time fair queueing: two classes that always have something are never apart by more than a frame of each.
    #[test]
    fn weighted_classes_share_by_weight(
        weights in [0.1f64..10.0, 0.1f64..10.0],
        sizes in [64u16..9000, 64u16..9000],
        frames in 1usize..400,
    ) {
        let sent = shares(weights, sizes, frames);
        let apart = (sent[0] / weights[0] - sent[1] / weights[1]).abs();
        let bound = f64::from(sizes[0]) / weights[0] + f64::from(sizes[1]) / weights[1];
        prop_assert!(apart <= bound * (1.0 + 1e-9), "{sent:?}: {apart} over {bound}");
    }
}

#[test]
fn a_class_that_was_idle_or_paused_has_no_claim_to_the_past() {
    let settings = SwitchSettings::default();
    let (data, second) = (Class::Data as usize, Class::SecondData as usize);
    let mut queues = Queues::new();
    for _ in 0..100 {
        queues.push(data, frame(1000), 0);
    }
    queues.push(second, frame(1000), 0);
    queues.pause(Class::SecondData, 0, 1000);
    for _ in 0..50 {
        assert_eq!(queues.begin(&settings, 0).unwrap().0, data);
        queues.complete();
    }
    // More than it would send in six turns of its own.
    for _ in 0..6 {
        queues.push(second, frame(1000), 0);
    }
    queues.resume(Class::SecondData, 500);
    let turns: Vec<usize> = (0..6)
        .map(|_| {
            let turn = queues.begin(&settings, 500).unwrap().0;
            queues.complete();
            turn
        })
        .collect();
    assert_eq!(turns.iter().filter(|&&turn| turn == second).count(), 3, "{turns:?}");
    // Idle instead of paused.
    let mut queues = Queues::new();
    for _ in 0..100 {
        queues.push(data, frame(1000), 0);
    }
    for _ in 0..50 {
        queues.begin(&settings, 0).unwrap();
        queues.complete();
    }
    for _ in 0..6 {
        queues.push(second, frame(1000), 0);
    }
    let turns: Vec<usize> = (0..6).map(|_| queues.begin(&settings, 0).unwrap().0).collect();
    assert_eq!(turns.iter().filter(|&&turn| turn == second).count(), 3, "{turns:?}");
}

#[test]
fn control_is_served_first_and_a_paused_class_not_at_all() {
    let settings = SwitchSettings::default();
    let mut queues = Queues::new();
    queues.push(Class::Data as usize, frame(1500), 0);
    queues.push(Class::SecondControl as usize, frame(64), 0);
    queues.push(Class::Control as usize, frame(64), 0);
    queues.pause(Class::Control, 0, 700);
    assert_eq!(queues.service_ps(100), 100);
    assert_eq!(queues.begin(&settings, 0).unwrap().0, Class::SecondControl as usize);
    queues.complete();
    assert_eq!(queues.begin(&settings, 0).unwrap().0, Class::Data as usize);
    queues.complete();
    assert!(queues.begin(&settings, 0).is_none());
    // What is left can be served when the pause lapses, and not before the line is free.
    assert_eq!((queues.service_ps(100), queues.service_ps(900)), (700, 900));
    queues.lapse(700);
    assert_eq!(queues.begin(&settings, 700).unwrap().0, Class::Control as usize);
    queues.complete();
    assert_eq!(queues.service_ps(0), NEVER_PS);
    assert_eq!(queues.end_interval(1000).1, 700);
}
