//! Costs of programs for the kernel's verifier: its log, and the time to load, grow with the instructions it walks
//! through. It gives up at a million.

use super::privilege::permitted;
use anabranch_kernel::{Capacity, Object, Program};
use std::io::Write as _;

const MOST: u32 = 150_000;

#[test]
fn programs_are_easy_to_verify() {
    let capacity = Capacity { groups: 16, routes: 16, replay: false };
    for object in Object::ALL {
        for (hook, loaded) in
            [("tc", Program::load(object, capacity)), ("XDP", Program::load_xdp(object, capacity))]
        {
            let Some(mut program) = permitted("the verifier", loaded) else { return };
            let walked = program.verified_instructions().unwrap();
            writeln!(std::io::stdout(), "{:12} {hook:4} {walked:7} instructions walked", object.name())
                .unwrap();
            assert!(walked < MOST, "{} at {hook}: {walked} instructions", object.name());
        }
    }
}
