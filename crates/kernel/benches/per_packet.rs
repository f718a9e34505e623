//! Nanoseconds per packet of each program by `BPF_PROG_TEST_RUN`, beside a forwarder without a scheme:
//! `cargo bench -p anabranch-kernel`. Needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and says so where it has not got them.
//!
//! The same 60-byte UDP packet over and over: caches, branches and flow maps are warm, and what is compared is the code.
//! In turns, the best of forty rounds each, in processor time.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // A benchmark may fail, and prints its table.

use anabranch_kernel::body::Body;
use anabranch_kernel::layout::{Head, MEMBERS, Output};
use anabranch_kernel::trial::Packet;
use anabranch_kernel::{Capacity, Group, KernelError, Member, Object, Prefix, Program};
use aya::maps::{Array, MapData};
use aya::programs::{SchedClassifier, TestRun, TestRunOptions, TestRunResult, Xdp};
use aya::{Ebpf, Pod};
use nix::time::{ClockId, clock_gettime};

const PATHS: [usize; 5] = [2, 4, 8, 16, 64];
const ROUNDS: usize = 40;
const REPEAT: u32 = 50_000;
/// One that a redirect cannot miss: the loopback's.
const WAY_OUT: u32 = 1;

/// One program at one hook.
struct Row {
    name: String,
    /// Without a scheme there is nothing that depends on the number of paths.
    paths: &'static [usize],
    prepare: Box<dyn FnMut(usize)>,
    run: Box<dyn FnMut(u32)>,
    best_ns: Vec<f64>,
}

fn frame() -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 10, 3, 0, 7]);
    frame.extend([4, 210, 0, 53, 0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// Weights that are not all equal.
fn group(number: usize, paths: usize, prefixes: Vec<Prefix>) -> Group {
    let member = |place| Member { target: WAY_OUT, weight: 1 + place as u32 % 4, up: true, gateway: None };
    Group {
        name: format!("g{number}"),
        prefixes,
        members: (0..paths).map(member).collect(),
        output: Output::Redirect,
        seed: 7,
        pause_ns: 500_000,
        turns: Vec::new(),
        plain: false,
    }
}

/// A scheme. With `routes`, packets find their group among so many prefixes of three lengths.
fn scheme(object: Object, xdp: bool, routes: u32) -> Result<Row, KernelError> {
    let capacity = Capacity { groups: routes.max(1), routes, replay: false };
    let load = if xdp { Program::load_xdp } else { Program::load };
    let program = std::rc::Rc::new(std::cell::RefCell::new(load(object, capacity)?));
    let preparing = program.clone();
    let frame = frame();
    Ok(Row {
        name: object.name().replace('_', " ") + if routes > 0 { ", routed" } else { "" },
        paths: &PATHS,
        prepare: Box::new(move |paths| {
            let groups: Vec<Group> = if routes == 0 {
                vec![group(0, paths, Vec::new())]
            } else {
                let prefix = |number: u32| Prefix::parse(&format!("10.{number}.0.0/16")).unwrap();
                (0..routes).map(|number| group(number as usize, paths, vec![prefix(number)])).collect()
            };
            let with_body = |group: Group| {
                let body = Body::make(object, &group, None).unwrap();
                (group, body)
            };
            preparing.borrow_mut().put(&groups.into_iter().map(with_body).collect::<Vec<_>>()).unwrap();
        }),
        run: Box::new(move |repeat| {
            program.borrow_mut().try_packet(&Packet::new(&frame), &mut Vec::new(), repeat).unwrap();
        }),
        best_ns: Vec::new(),
    })
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Way(Head);

// SAFETY: numbers.
unsafe impl Pod for Way {}

/// The forwarder, with or without the key.
fn forward(name: &str, program: &str, xdp: bool) -> Result<Row, Box<dyn std::error::Error>> {
    let mut ebpf = Ebpf::load(include_bytes!("../objects/forward"))?;
    let head = Head {
        up: 1,
        pause_ns: 0,
        seed: 7,
        output: Output::Redirect as u32,
        targets: [WAY_OUT; MEMBERS],
        weights: [0; MEMBERS],
    };
    let mut ways: Array<&mut MapData, Way> = ebpf.map_mut("WAYS").ok_or("no map")?.try_into()?;
    ways.set(0, Way(head), 0)?;
    let program = format!("{program}{}", if xdp { "_xdp" } else { "" });
    if xdp {
        TryInto::<&mut Xdp>::try_into(ebpf.program_mut(&program).ok_or("no program")?)?.load()?;
    } else {
        TryInto::<&mut SchedClassifier>::try_into(ebpf.program_mut(&program).ok_or("no program")?)?.load()?;
    }
    let frame = frame();
    let try_one = move |repeat| -> Result<TestRunResult, Box<dyn std::error::Error>> {
        let mut after = vec![0; frame.len()];
        let mut options = TestRunOptions::new();
        options.data_in = Some(&frame);
        options.data_out = Some(&mut after);
        options.repeat = repeat;
        let program = ebpf.program(&program).ok_or("no program")?;
        Ok(if xdp {
            TryInto::<&Xdp>::try_into(program)?.test_run(options)?
        } else {
            TryInto::<&SchedClassifier>::try_into(program)?.test_run(options)?
        })
    };
    Ok(Row {
        name: name.into(),
        paths: &PATHS[..1],
        prepare: Box::new(|_| ()),
        run: Box::new(move |repeat| {
            try_one(repeat).unwrap();
        }),
        best_ns: Vec::new(),
    })
}

/// Processor time of this thread in nanoseconds.
fn spent_ns() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
    time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64
}

fn measure(rows: &mut [Row]) {
    for row in rows.iter_mut() {
        row.best_ns = vec![f64::INFINITY; row.paths.len()];
    }
    for _ in 0..ROUNDS {
        for row in rows.iter_mut() {
            for (&paths, best_ns) in row.paths.iter().zip(&mut row.best_ns) {
                (row.prepare)(paths);
                (row.run)(REPEAT / 20);
                let before = spent_ns();
                (row.run)(REPEAT);
                *best_ns = best_ns.min((spent_ns() - before) / f64::from(REPEAT));
            }
        }
    }
}

fn rows(xdp: bool) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let mut rows = vec![
        forward("forward", "forward", xdp)?,
        forward("forward, with the flow's hash", "forward_key", xdp)?,
    ];
    for one in Object::ALL {
        rows.push(scheme(one, xdp, 0)?);
    }
    rows.push(scheme(Object::Slots, xdp, 16)?);
    rows.push(scheme(Object::Score, xdp, 16)?);
    Ok(rows)
}

fn main() {
    // What cargo bench passes on.
    let quick = std::env::args().any(|argument| argument == "--test");
    for (title, xdp) in [("tc", false), ("XDP", true)] {
        let mut rows = match rows(xdp) {
            Ok(rows) => rows,
            Err(error) => {
                println!("per packet: skipped: {error}");
                return;
            }
        };
        if quick {
            rows.iter_mut().for_each(|row| {
                (row.prepare)(2);
                (row.run)(1);
            });
            continue;
        }
        measure(&mut rows);
        println!("\nns per packet at {title}, and what that is over `forward`");
        print!("{:30}", "paths");
        PATHS.iter().for_each(|paths| print!("{paths:>8}      "));
        println!();
        let base_ns = rows[0].best_ns[0];
        for row in &rows {
            print!("{:30}", row.name);
            row.best_ns.iter().for_each(|ns| print!("{ns:8.1} {:+5.1}", ns - base_ns));
            println!();
        }
    }
}
