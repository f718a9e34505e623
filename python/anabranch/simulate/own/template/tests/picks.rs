//! Picks that were worked out by hand: a draw d selects member i if d * (sum of weights) / 2^32,
//! rounded down, lies among the weights of i. `picks.csv` has the weights, the margin, the random
//! numbers drawn (hexadecimal), what waits at each member, and the member that takes the packet.

use anabranch_balancers::Planned;
use anabranch_split::{Env, Packet, capability, pick};
use blank_scheme::{BlankScheme, Parameters};

/// A switch whose random numbers and queues are given.
struct Given {
    draws: std::vec::IntoIter<u32>,
    backlogs: Vec<u32>,
}

impl Env for Given {
    const GIVES: u32 = capability::RANDOM | capability::BACKLOG;

    fn now_ns(&mut self) -> u64 {
        0
    }

    fn random_u32(&mut self) -> u32 {
        self.draws.next().expect("more draws than the vector has")
    }

    fn backlog_bytes(&mut self, member: u16) -> u32 {
        self.backlogs[usize::from(member)]
    }
}

fn numbers(text: &str, radix: u32) -> Vec<u32> {
    text.split(' ')
        .map(|number| u32::from_str_radix(number, radix).unwrap())
        .collect()
}

#[test]
fn picks_are_those_of_the_vectors() {
    for line in include_str!("picks.csv").lines().skip(1) {
        let [weights, margin, draws, backlogs, member] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let weights: Vec<u64> = numbers(weights, 10).into_iter().map(u64::from).collect();
        let plan = BlankScheme::plan(
            &Parameters {
                margin_bytes: margin.parse().unwrap(),
            },
            &weights,
            None,
        )
        .unwrap();
        let mut env = Given {
            draws: numbers(draws, 16).into_iter(),
            backlogs: numbers(backlogs, 10),
        };
        let picked = pick::<BlankScheme, _>(&plan, &mut (), &mut Packet::default(), &mut env);
        assert_eq!(picked, member.parse::<u16>().unwrap(), "{line}");
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let error = BlankScheme::plan(&Parameters::default(), &[1 << 31, 1 << 31], None).unwrap_err();
    assert!(error.to_string().contains("use smaller weights"), "{error}");
}
