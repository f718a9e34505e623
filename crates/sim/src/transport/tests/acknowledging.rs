//! Delayed acknowledgements: RFC 1122, section 4.2.3.2; RFC 5681, section 4.2.

use super::*;

fn ack_times_us<F: FnMut(&crate::Packet) -> Fate>(wire: &Wire<F>) -> Vec<(u64, u64)> {
    wire.acks().map(|(time, p)| (time / US, p.seq / MSS)).collect()
}

#[test]
fn the_last_odd_segment_waits() {
    let mut wire = Wire::new(Tcp { ack_every: 2, ..plain() }, |_| Fate::Arrives);
    wire.start(5 * MSS);
    wire.run();
    assert_eq!(ack_times_us(&wire), [(50, 2), (50, 4), (550, 5)]);
}

#[test]
fn out_of_order_segments_and_fillings_are_acknowledged_at_once() {
    let mut wire = Wire::new(Tcp { ack_every: 2, ..plain() }, drops(&[1]));
    wire.start(6 * MSS);
    wire.run();
    assert_eq!(ack_times_us(&wire), [(50, 1), (50, 1), (50, 1), (50, 1), (150, 6)]);
}

#[test]
fn a_delayed_acknowledgement_measures_its_delay_too() {
    // RFC 7323, section 4.3. One segment waits 500 us: R = 600 us, RTO = 1800 us; the second is lost.
    let tcp = Tcp { ack_every: 2, rto_min_ps: 0, ..plain() };
    let mut wire = Wire::new(tcp, drops(&[1]));
    wire.start(MSS);
    wire.run_until(600 * US);
    wire.write(MSS);
    wire.run();
    let times = wire.data().map(|(time, _)| time / US).collect::<Vec<_>>();
    assert_eq!(times, [0, 600, 2400]);
}
