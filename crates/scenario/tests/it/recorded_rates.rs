//! Windows and rates over time, under every control.

use anabranch_balancers::simulate;
use anabranch_scenario::Scenario;
use anabranch_sim::{Progress, WindowSample};
use std::path::Path;

const LINK_BPS: u64 = 100_000_000_000;

/// Samples of flow 0, one of three that share the link of their receiver, and the number of flows that finished.
fn recorded(transport: &str, preset: &str) -> (Vec<WindowSample>, usize) {
    let text = format!(
        "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n{preset}\n\
         link = {{ rate = \"100 Gbps\", delay = \"1 us\" }}\n[transport]\n{transport}\n[[traffic]]\nkind = \"once\"\n\
         pattern = {{ pairs = [[0, 4], [1, 4], [2, 4]] }}\nsizes = \"2 MB\"\n[record]\nwindows = [0]\n[stop]\n\
         at = \"50 ms\"\n"
    );
    let resolved = Scenario::parse(&text, "s.toml", &[]).unwrap().resolve(Path::new(".")).unwrap();
    let flows = resolved.flows().unwrap();
    let outcome = simulate(resolved.fabric(), &flows, resolved.settings(), &Progress::default()).unwrap();
    assert!(outcome.windows.iter().all(|sample| sample.flow == 0));
    (outcome.windows, outcome.flows.iter().filter(|flow| flow.fct_ps < u64::MAX).count())
}

#[test]
fn every_control_leaves_windows_and_rates() {
    let roce = |control: &str| format!("kind = \"roce\"\ncontrol = \"{control}\"");
    let controlled = [
        ("kind = \"newreno\"".to_owned(), ""),
        ("kind = \"cubic\"".to_owned(), ""),
        ("kind = \"dctcp\"".to_owned(), ""),
        ("kind = \"mptcp\"".to_owned(), ""),
        (roce("dcqcn"), "preset = \"lossless-roce\""),
        (roce("timely"), "preset = \"lossless-roce\""),
        (roce("swift"), "preset = \"lossless-roce\""),
        (roce("hpcc"), "preset = \"lossless-roce\""),
        (format!("{}\nqueue_pairs = 4", roce("dcqcn")), "preset = \"lossless-roce\""),
        ("kind = \"uec\"".to_owned(), "preset = \"uec-trimming\""),
    ];
    for (transport, preset) in &controlled {
        let (samples, _) = recorded(transport, preset);
        assert!(samples.len() > 2, "{transport}: {samples:?}");
        assert!(samples.is_sorted_by_key(|sample| sample.time_ps), "{transport}");
        let rates: Vec<u64> = samples.iter().filter_map(|sample| sample.rate_bps).collect();
        assert!(rates.iter().all(|&bps| bps <= LINK_BPS), "{transport}: {rates:?}");
        let least = rates.iter().min().unwrap();
        assert!(*least < LINK_BPS * 3 / 4, "{transport}: three share the link, and it stays at {least}");
        assert!(samples.iter().all(|sample| sample.window_bytes.is_some()), "{transport}");
    }
}

#[test]
fn without_control_the_rate_is_the_links_or_the_applications() {
    let (samples, _) = recorded("kind = \"roce\"\ncontrol = \"none\"", "preset = \"lossless-roce\"");
    let [only] = samples[..] else { panic!("{samples:?}") };
    assert_eq!((only.time_ps, only.rate_bps), (0, Some(LINK_BPS)));
    let (samples, _) = recorded("kind = \"udp\"\nrate = \"2 Gbps\"", "");
    let [only] = samples[..] else { panic!("{samples:?}") };
    assert_eq!((only.rate_bps, only.window_bytes), (Some(2_000_000_000), None));
}

/// DCQCN starts at the link's rate and has no window: what it would have in flight is its rate times the round trip.
#[test]
fn the_window_of_a_rate_is_what_it_sends_in_a_round_trip() {
    let (samples, _) = recorded("kind = \"roce\"\ncontrol = \"dcqcn\"", "preset = \"lossless-roce\"");
    assert_eq!(samples[0].rate_bps, Some(LINK_BPS));
    let first = samples[0].window_bytes.unwrap() as f64;
    // Four links of 1 us there and back, and the time of the frames.
    assert!((100_000.0..125_000.0).contains(&first), "{first}");
    for sample in &samples {
        let share = sample.rate_bps.unwrap() as f64 / LINK_BPS as f64;
        assert!((sample.window_bytes.unwrap() as f64 - share * first).abs() <= 1.0, "{sample:?}");
    }
}
