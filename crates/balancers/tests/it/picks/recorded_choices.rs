//! Spraying against the balancers of `uet-htsim` (`vectors/uec`), row for row: every entropy value of 16 flows, given the
//! feedback and the random numbers of that run.

use anabranch_balancers::reps::pick as reps;
use anabranch_balancers::reps::pick::Reps;
use anabranch_balancers::uec::pick as uec;
use anabranch_balancers::uec::pick::{Bitmap, Oblivious};
use anabranch_balancers::uec::recycle::{Mixed, MixedState};
use anabranch_split::picks::acknowledgement::{Acknowledged, Feedback};
use anabranch_split::{Env, Packet, Pick, capability};
use flate2::read::GzDecoder;
use std::collections::VecDeque;
use std::io::Read as _;
use std::path::Path;

const ENTROPIES: u32 = 128;
const FLOWS: usize = 16;
/// Returned values that `uec-mixed` remembers here; there is no limit there.
const ROOM: usize = 256;

/// One line of a trace.
struct Row {
    time_ps: u64,
    object: usize,
    class: String,
    event: String,
    value: i64,
    arg: u64,
}

fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/uec").join(file);
    let opened = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(opened).read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_ps,object,class,event,value,arg"));
    lines
        .map(|line| {
            let fields: Vec<_> = line.split(',').collect();
            Row {
                time_ps: fields[0].parse().unwrap(),
                object: fields[1].parse().unwrap(),
                class: fields[2].to_owned(),
                event: fields[3].to_owned(),
                value: fields[4].parse().unwrap(),
                arg: fields[5].parse().unwrap(),
            }
        })
        .collect()
}

/// How numbers drawn there become the bits that are drawn here.
enum Draws {
    /// The first two of a flow are one: what the free bits of its values are, and the order of its first round. Later ones
    /// are the order of a round.
    Rounds { begun: bool },
    /// A value each.
    Values,
}

/// Environment that gives what was recorded.
struct Recorded {
    now_ps: u64,
    draws: Draws,
    drawn: VecDeque<u32>,
}

impl Recorded {
    fn draw(&mut self) -> u32 {
        self.drawn.pop_front().expect("nothing was drawn there")
    }
}

impl Env for Recorded {
    const GIVES: u32 = capability::CLOCK | capability::RANDOM | capability::FEEDBACK;

    fn now_ns(&mut self) -> u64 {
        self.now_ps / 1000
    }

    fn random_u32(&mut self) -> u32 {
        match &mut self.draws {
            Draws::Rounds { begun } => {
                let first = !std::mem::replace(begun, true);
                let free_bits = if first { (self.draw() % 65_535) << 16 } else { 0 };
                free_bits | (self.draw() % ENTROPIES)
            }
            Draws::Values => (self.draw() % ENTROPIES) << (32 - ENTROPIES.trailing_zeros()),
        }
    }
}

fn feedback(row: &Row) -> Feedback {
    let entropy = row.value as u16;
    let arrived = |marked| {
        Feedback::Acknowledged(Acknowledged { entropy: Some(entropy), marked, ..Acknowledged::default() })
    };
    match row.arg {
        0 => arrived(false),
        1 => arrived(true),
        2 => Feedback::Trimmed { entropy },
        _ => panic!("no packet timed out in these runs"),
    }
}

/// Replays a trace: the rows of `class` and the draws of `draws_of`, objects numbered `first`, `first + step` and so on.
/// Number of choices.
fn replay<S: Pick<Plan: Sized, State: Sized, Feedback = Feedback>>(
    rows: &[Row],
    (class, first, step): (&str, usize, usize),
    draws_of: &str,
    plan: &S::Plan,
    new: impl Fn() -> (S::State, Draws),
) -> usize {
    let mut flows: Vec<_> = (0..FLOWS)
        .map(|_| {
            let (state, draws) = new();
            (state, Recorded { now_ps: 0, draws, drawn: VecDeque::new() })
        })
        .collect();
    let mut choices = 0;
    for row in rows {
        if row.event == "rand" && row.class == draws_of {
            flows[row.object].1.drawn.push_back(row.value as u32);
            continue;
        }
        if row.class != class {
            continue;
        }
        let flow = (row.object - first) / step;
        let (state, env) = &mut flows[flow];
        env.now_ps = row.time_ps;
        match row.event.as_str() {
            "feedback" => S::learn(plan, state, &feedback(row), env),
            "next" => {
                let chosen = anabranch_split::pick::<S, _>(plan, state, &mut Packet::default(), env);
                let at = format!("choice {choices}, at {} ps, flow {flow}", row.time_ps);
                assert_eq!(i64::from(chosen), row.value, "{at}");
                // But for those that a flow begins with, numbers are drawn when they are drawn there.
                let first = matches!(env.draws, Draws::Rounds { begun: false });
                assert!(first || env.drawn.is_empty(), "{at}: more was drawn there: {:?}", env.drawn);
                choices += 1;
            }
            event => panic!("{class} {event}"),
        }
    }
    choices
}

const PLAN: uec::Parameters = uec::Parameters { entropies: ENTROPIES };

fn rounds() -> Draws {
    Draws::Rounds { begun: false }
}

#[test]
fn oblivious_chooses_as_recorded() {
    let rows = rows("choices_oblivious.csv.gz");
    let new = || (uec::Permutation::default(), rounds());
    let class = "UecMpOblivious";
    assert_eq!(replay::<Oblivious>(&rows, (class, 0, 1), class, &PLAN, new), 8_190);
}

#[test]
fn bitmap_chooses_as_recorded() {
    let rows = rows("choices_bitmap.csv.gz");
    let new = || (uec::State::new(vec![0; ENTROPIES as usize]), rounds());
    let class = "UecMpBitmap";
    assert_eq!(replay::<Bitmap<Vec<u8>>>(&rows, (class, 0, 1), class, &PLAN, new), 7_952);
}

#[test]
fn reps_chooses_as_recorded() {
    let rows = rows("choices_reps.csv.gz");
    let plan = reps::Parameters { entropies: ENTROPIES, ..reps::Parameters::DEFAULT };
    let new = || (reps::State::default(), Draws::Values);
    assert_eq!(replay::<Reps>(&rows, ("UecMpReps", 0, 1), "UecMpReps", &plan, new), 8_021);
}

/// Its two parts are objects of their own there: a choice is what the part that recycles gave, if it gave any, and else
/// what the bitmap chose.
#[test]
fn mixed_chooses_as_recorded() {
    let rows = rows("choices_mixed.csv.gz");
    let new = || (MixedState::new(vec![0; ROOM], vec![0; ENTROPIES as usize]), rounds());
    let replayed = replay::<Mixed<Vec<u16>, Vec<u8>>>;
    assert_eq!(replayed(&rows, ("UecMpMixed", FLOWS + 1, 2), "UecMpBitmap", &PLAN, new), 7_939);
    let mut parts = VecDeque::new();
    let (mut recycled, mut fresh) = (0, 0);
    for row in &rows {
        match (row.class.as_str(), row.event.as_str()) {
            ("UecMpRepsLegacy", "recycle") if row.value >= 0 => parts.push_back(row.value),
            ("UecMpBitmap", "next") => parts.push_back(row.value),
            ("UecMpMixed", "next") => assert_eq!(parts.pop_front(), Some(row.value)),
            _ => {}
        }
        recycled += usize::from(row.event == "recycle");
        fresh += usize::from(row.class == "UecMpBitmap" && row.event == "next");
    }
    assert!(parts.is_empty());
    assert_eq!((recycled, fresh), (7_939, 6_109));
}
