use super::*;

/// Those who want more take turns before those who have what they want, who take turns too.
#[test]
fn turns_go_round() {
    let mut pacer = Pacer::default();
    assert!(pacer.line_up(1));
    assert!(!pacer.line_up(2) && !pacer.line_up(3));
    let mut turns = Vec::new();
    for queue in [
        Queue::Demand,
        Queue::Advance,
        Queue::Demand,
        Queue::Advance,
        Queue::Advance,
        Queue::Advance,
        Queue::Neither,
        Queue::Advance,
        Queue::Neither,
        Queue::Neither,
    ] {
        let turn = pacer.next().unwrap();
        let (Turn::Demand(name) | Turn::Advance(name)) = turn;
        pacer.put(name, queue);
        turns.push(turn);
    }
    let wanted = [1, 2, 3, 1, 3].map(Turn::Demand);
    let ahead = [2, 1, 3, 2, 3].map(Turn::Advance);
    assert_eq!(turns, [wanted, ahead].concat());
}

/// The next turn of a pacer that has run out of them is at once, and that of one that runs when its time has come.
#[test]
fn a_pacer_stops_and_goes_on() {
    let mut pacer = Pacer::default();
    assert_eq!(pacer.next(), None);
    assert!(pacer.line_up(7));
    assert_eq!(pacer.next(), Some(Turn::Demand(7)));
    assert!(!pacer.line_up(8));
    assert_eq!(pacer.next(), Some(Turn::Demand(8)));
    assert_eq!(pacer.next(), None);
    assert!(pacer.line_up(7));
}
