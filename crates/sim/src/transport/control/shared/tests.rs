use super::*;
use crate::transport::control::Answer;

/// A law that takes down what it is told is in flight.
struct Noted(Arc<Mutex<Vec<u64>>>);

impl CongestionControl for Noted {
    fn window_bytes(&self) -> u64 {
        10_000
    }

    fn on_ack(&mut self, answer: &Answer<'_>) {
        self.0.lock().unwrap().push(answer.in_flight_bytes);
    }
}

fn answer(in_flight_bytes: u64) -> Answer<'static> {
    Answer {
        now_ps: 0,
        bytes: 1000,
        marked: false,
        rtt_ps: None,
        una: 0,
        next: 0,
        in_flight_bytes,
        hops: &[],
    }
}

/// Both senders move one law, which hears of all bytes in flight; a sender that leaves takes its own away.
#[test]
fn senders_of_a_queue_pair_share_law_and_window() {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let mut first: Law = Box::new(Noted(Arc::clone(&noted)));
    let mut second = SharedLaw::split(&mut first, 5000);
    assert_eq!((first.others_bytes(), second.others_bytes()), (0, 5000));
    second.on_flight(2000);
    assert_eq!((first.others_bytes(), second.others_bytes()), (2000, 5000));
    first.on_ack(&answer(4000));
    second.on_ack(&answer(1000));
    assert_eq!(*noted.lock().unwrap(), [6000, 5000]);
    let third = SharedLaw::split(&mut second, 1000);
    assert_eq!(third.others_bytes(), 5000);
    first = Box::new(Unlimited);
    assert_eq!((third.others_bytes(), first.window_bytes()), (1000, u64::MAX));
    assert_eq!((second.window_bytes(), third.window_bytes()), (10_000, 10_000));
}

/// The last sender that has a law takes it with it as it was before it was shared.
#[test]
fn a_law_that_nobody_else_has_is_not_shared_any_more() {
    let mut first: Law = Box::new(Noted(Arc::default()));
    let mut second = SharedLaw::split(&mut first, 5000);
    let of_first = SharedLaw::take(&mut first);
    assert_eq!((first.window_bytes(), of_first.window_bytes()), (u64::MAX, 10_000));
    assert!(of_first.share().is_some());
    drop(of_first);
    let alone = SharedLaw::take(&mut second);
    assert_eq!((second.window_bytes(), alone.window_bytes()), (u64::MAX, 10_000));
    assert!(alone.share().is_none());
}
