//! Tables of a run whose numbers are known.

use anabranch_balancers::{Balancing, Settings, simulate};
use anabranch_fabric::topology::LeafSpine;
use anabranch_record::{Column, Values, flow_columns, port_columns};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe, Progress, Window};
use anabranch_traffic::{Flow, Ports, Start};

const US: u64 = 1_000_000;

fn column<'a>(columns: &'a [Column], name: &str) -> &'a Values {
    &columns.iter().find(|column| column.name == name).unwrap().values
}

#[test]
fn a_window_on_an_empty_fabric_is_ideal_and_books_balance() {
    let fabric =
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap();
    let transports = vec![Transport::Tcp(Tcp::plain(Control::NewReno))];
    let flow = |src, dst, size_bytes, start_us| Flow {
        src,
        dst,
        size_bytes,
        start: Start::At(start_us * US),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    // Alone each time: between leaves, within a leaf, one byte, one that never ends in time.
    let flows = [
        flow(0, 2, 14_000, 0),
        flow(0, 1, 14_480, 100),
        flow(3, 0, 1, 200),
        flow(1, 3, 100_000_000, 300),
        flow(1, 2, 1, 99_999),
    ];
    let settings = Settings {
        seed: 1,
        balancing: Balancing::ECMP,
        transports: transports.clone(),
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: 10_300 * US,
        observe: Observe { interval_ps: 1_000 * US, ..Observe::default() },
    };
    let outcome = simulate(&fabric, &flows, &settings, &Progress::default()).unwrap();
    let columns = flow_columns(&fabric, Framing::ETHERNET, &transports, &flows, &outcome.flows, Window::ALL);
    assert_eq!(
        column(&columns, "slowdown"),
        &Values::OptionalF64(vec![Some(1.0), Some(1.0), Some(1.0), None, None])
    );
    assert_eq!(column(&columns, "finished"), &Values::Bool(vec![true, true, true, false, false]));
    // Four links: 71 bytes and 20 of preamble and gap at 0.8 ns, and 1 us of signal.
    let one_byte_ns = 4.0 * ((71.0 + 20.0) * 0.8 + 1000.0);
    let Values::OptionalF64(fct) = column(&columns, "fct_ns") else { panic!("times are real numbers") };
    assert_eq!(fct[2], Some(one_byte_ns));
    let Values::OptionalF64(start) = column(&columns, "start_ns") else { panic!("times are real numbers") };
    assert_eq!((start[3], start[4]), (Some(300_000.0), None));

    let ports = port_columns(&fabric, &outcome.ports);
    let Values::F64(utilization) = column(&ports, "utilization") else { panic!("a ratio") };
    let (Values::U64(from), Values::F64(begins)) = (column(&ports, "from"), column(&ports, "start_ns"))
    else {
        panic!("numbers")
    };
    let of_host_1 = |ns: f64| {
        let row = (0..from.len()).find(|&row| from[row] == 1 && begins[row] == ns).unwrap();
        utilization[row]
    };
    // The long flow fills host 1's link from its second round on.
    assert!((of_host_1(5e6) - 1.0).abs() < 0.002, "{}", of_host_1(5e6));
    assert!(utilization.iter().all(|&u| u <= 1.0));
    for column in columns.iter().chain(&ports) {
        assert!(column.meaning.ends_with('.') && !column.values.is_empty());
    }
}
