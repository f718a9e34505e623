//! Against the Linux kernel: one CUBIC flow through one bottleneck, recorded by `vectors/linux/record.py`, and where it
//! leaves slow start on short paths, recorded by `vectors/linux/record_slow_start.py`.

use super::recording::{PS_PER_US, Recording, link, mean, settings, tcp};
use anabranch_balancers::{Settings, simulate};
use anabranch_fabric::Marking;
use anabranch_fabric::topology::Dumbbell;
use anabranch_sim::transport::{Control, Tcp};
use anabranch_sim::{Framing, Observe, Outcome, Progress, WindowSample};
use anabranch_traffic::{Flow, Ports, Start};

const SEGMENT: u64 = 1448;
/// Ethernet without its checksum, IPv4, TCP with timestamps: what tbf counts.
const HEADERS: u64 = 66;
const SECONDS: u64 = 30;
const RTO_PS: u64 = 200_000 * PS_PER_US;
/// Time left out: slow start and the search for the first plateau, which differ from run to run in Linux too.
const SETTLED_MS: u64 = 4_000;
const SAMPLE_MS: u64 = 50;

/// HyStart has ended slow start by then, and no packet is lost yet.
const LEFT_MS: u64 = 101;

/// Least acknowledgements for a segment of growth in congestion avoidance: CUBIC's law has 20, slow start one.
const AVOIDS: u64 = 10;

/// One flow without end through one bottleneck.
fn bottleneck(rate_bps: u64, delay_ps: u64, buffer_bytes: u32, end_ps: u64) -> Outcome {
    let fast = link(10_000_000_000, 0, u32::MAX, Marking::Off);
    let slow = link(rate_bps, delay_ps, buffer_bytes, Marking::Off);
    let fabric = Dumbbell { hosts_per_side: 1, host_link: fast, bottleneck: slow }.build().unwrap();
    let framing = Framing {
        payload_bytes_max: SEGMENT as u16,
        header_bytes: HEADERS as u16,
        frame_bytes_min: 60,
        gap_bytes: 0,
        whole_ns: false,
    };
    // Linux's clock was started after its connect().
    let tcp = Tcp { handshake: false, ..tcp(Control::Cubic { hystart: true }, 1 << 30, RTO_PS) };
    let settings = Settings {
        framing,
        end_ps,
        observe: Observe { window_flows: vec![0], ..Observe::default() },
        ..settings(tcp, HEADERS as u16)
    };
    let flow = Flow {
        src: 0,
        dst: 1,
        size_bytes: 1 << 30,
        start: Start::At(0),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    simulate(&fabric, &[flow], &settings, &Progress::default()).unwrap()
}

/// Segments of the window when slow start ended. Two segments of growth in turn are slow from then on; a single one is
/// slow in slow start too, between the acknowledgements of two rounds.
fn left_segments(windows: &[WindowSample], frame_ps: u64) -> u64 {
    let slow = |pair: &[WindowSample]| pair[1].time_ps - pair[0].time_ps >= AVOIDS * frame_ps;
    let last = windows.windows(3).find(|three| slow(&three[..2]) && slow(&three[1..])).unwrap();
    last[0].window_bytes.unwrap() / SEGMENT
}

/// Windows in segments.
struct Windows {
    /// At [`LEFT_MS`].
    left: f64,
    /// At multiples of [`SAMPLE_MS`] from [`SETTLED_MS`] on.
    settled: Vec<f64>,
}

impl Windows {
    fn of_linux(file: &str) -> Self {
        let recording = Recording::read(file);
        let (ms, window) = (recording.column::<u64>("ms"), recording.column::<f64>("window_segments"));
        Self::sampled(&ms.into_iter().zip(window).collect::<Vec<_>>())
    }

    fn of_ours(samples: &[WindowSample]) -> Self {
        let changes: Vec<(u64, f64)> = samples
            .iter()
            .map(|sample| {
                (sample.time_ps / (1_000 * PS_PER_US), sample.window_bytes.unwrap() as f64 / SEGMENT as f64)
            })
            .collect();
        Self::sampled(&changes)
    }

    /// The value that holds at each multiple, of values from times on.
    fn sampled(changes: &[(u64, f64)]) -> Self {
        let at = |ms: u64| changes[changes.partition_point(|&(time, _)| time <= ms).max(1) - 1].1;
        let settled = SETTLED_MS / SAMPLE_MS..SECONDS * 1000 / SAMPLE_MS;
        Self { left: at(LEFT_MS), settled: settled.map(|k| at(k * SAMPLE_MS)).collect() }
    }

    /// The mean peak before falls to at most 0.85 of it, which may take several samples; and the median time in which
    /// the window grows back to 0.95 of the next peak. The time to the peak itself would say less: CUBIC's plateau is
    /// flat there, and a packet more or less of room moves the loss by a second.
    fn sawtooth(&self) -> (f64, f64) {
        let (mut peaks, mut times_s) = (Vec::new(), Vec::new());
        let (mut peak, mut trough) = (0, None);
        for (index, pair) in self.settled.windows(2).enumerate() {
            let falls_on = self.settled.get(index + 2).is_some_and(|&next| next < pair[1]);
            if pair[1] >= pair[0] {
                peak = index + 1;
            } else if !falls_on && pair[1] <= 0.85 * self.settled[peak] {
                peaks.push(self.settled[peak]);
                if let Some(trough) = trough.replace(index + 1) {
                    let grown =
                        self.settled[trough..].iter().take_while(|&&w| w < 0.95 * self.settled[peak]).count();
                    times_s.push((grown as u64 * SAMPLE_MS) as f64 / 1e3);
                }
            }
        }
        times_s.sort_by(f64::total_cmp);
        (mean(&peaks), times_s[times_s.len() / 2])
    }

    fn mean(&self) -> f64 {
        mean(&self.settled)
    }
}

#[test]
fn cubic_fills_a_bottleneck_as_linux_does() {
    let runs = Recording::read("linux/runs.csv");
    let files: Vec<String> = runs.column("file");
    let rates: Vec<u64> = runs.column("rate_bps");
    let delays_us: Vec<u64> = runs.column("delay_us");
    let buffers: Vec<u32> = runs.column("buffer_bytes");
    let goodputs: Vec<f64> = runs.column("goodput_bps");
    for (i, file) in files.iter().enumerate() {
        let end_ps = SECONDS * 1_000_000 * PS_PER_US;
        let outcome = bottleneck(rates[i], delays_us[i] * PS_PER_US / 2, buffers[i], end_ps);
        let record = outcome.flows[0];
        let sent_bytes = record.sent_bytes - record.retransmitted_packets * SEGMENT;
        let goodput = sent_bytes as f64 * 8.0 / SECONDS as f64 / goodputs[i];
        let (ours, linux) = (Windows::of_ours(&outcome.windows), Windows::of_linux(&format!("linux/{file}")));
        let (our_peak, our_growth_s) = ours.sawtooth();
        let (linux_peak, linux_growth_s) = linux.sawtooth();
        let found = [
            ("goodput", goodput),
            ("window when slow start has ended", ours.left / linux.left),
            ("mean window", ours.mean() / linux.mean()),
            ("peak of the window", our_peak / linux_peak),
            ("time to grow", our_growth_s / linux_growth_s),
        ];
        println!("{file}: {found:?}, Linux grows to {linux_peak} in {linux_growth_s} s");
        for (what, ratio) in found {
            assert!((ratio - 1.0).abs() <= 0.1, "{file}: {what}: ours over Linux's {ratio}");
        }
    }
}

#[test]
fn cubic_leaves_slow_start_on_short_paths_where_linux_does() {
    let paths = Recording::read("linux/slow-start.csv");
    let rates: Vec<u64> = paths.column("rate_bps");
    let rtts_us: Vec<u64> = paths.column("rtt_us");
    let linux: Vec<u64> = paths.column("window_segments");
    let mut differ = Vec::new();
    for (i, &rate_bps) in rates.iter().enumerate() {
        let bytes_ps = |bytes: u64| bytes * 8 * 1_000_000 * PS_PER_US / rate_bps;
        let frame_ps = bytes_ps(SEGMENT + HEADERS);
        // The least round trip that Linux measured.
        let delay_ps = (rtts_us[i] * PS_PER_US - frame_ps - bytes_ps(HEADERS)) / 2;
        let outcome = bottleneck(rate_bps, delay_ps, u32::MAX, RTO_PS);
        let ours = left_segments(&outcome.windows, frame_ps);
        let found = format!("{rate_bps} bit/s, {} us: ours {ours}, Linux {}", rtts_us[i], linux[i]);
        println!("{found}");
        if ours.abs_diff(linux[i]) > (linux[i] / 10).max(2) {
            differ.push(found);
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}
