//! Meetings of real threads.

use crate::meeting::Meetings;
use std::thread;

/// Each thread reads what all brought to this meeting, and each letter once, in the order of those who wrote.
#[test]
fn all_read_what_all_bring() {
    for threads in [1, 2, 3] {
        let meetings = Meetings::<u64, (usize, u64)>::new(threads);
        thread::scope(|scope| {
            for number in 0..threads {
                let mut seat = meetings.seat(number);
                scope.spawn(move || {
                    for round in 0..2000 {
                        let mut letters: Vec<Vec<_>> = vec![Vec::new(); threads];
                        // Not to everyone each time.
                        for to in (0..threads).filter(|to| !(round + *to as u64).is_multiple_of(3)) {
                            letters[to].extend([(number, round), (number, round + 1)]);
                        }
                        let mut read = Vec::new();
                        let reports =
                            seat.meet(10 * round + number as u64, &mut letters, |one| read.push(one));
                        let expected: Vec<u64> = (0..threads as u64).map(|from| 10 * round + from).collect();
                        assert_eq!(reports, Some(&expected[..]));
                        let written = !(round + number as u64).is_multiple_of(3);
                        let senders = if written { threads } else { 0 };
                        let all: Vec<_> =
                            (0..senders).flat_map(|from| [(from, round), (from, round + 1)]).collect();
                        assert_eq!(read, all);
                    }
                });
            }
        });
    }
}

#[test]
fn nobody_waits_for_one_who_has_left() {
    let meetings = Meetings::<u64, ()>::new(2);
    thread::scope(|scope| {
        let (mut first, second) = (meetings.seat(0), meetings.seat(1));
        let waiting = scope.spawn(move || first.meet(1, &mut [Vec::new(), Vec::new()], |()| ()).is_none());
        drop(second);
        assert!(waiting.join().unwrap());
    });
}
