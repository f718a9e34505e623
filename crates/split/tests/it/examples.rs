//! Examples, compiled and run: each does what its page says.

#[path = "../../examples/many_groups.rs"]
#[allow(dead_code)] // `main` is called where it is a program.
mod many_groups;
#[path = "../../examples/per_packet.rs"]
#[allow(dead_code)]
mod per_packet;
#[path = "../../examples/udp_load_balancer.rs"]
#[allow(dead_code)]
mod udp_load_balancer;

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use udp_load_balancer::LoadBalancer;

/// Longest wait for what must come.
const DEADLINE: Duration = Duration::from_secs(120);

#[test]
fn packets_of_the_scalar_loop_are_all_counted() {
    let counts = per_packet::run(1 << 20).unwrap();
    assert_eq!(counts.iter().sum::<u64>(), 1 << 20);
    // The middle weight is the same in both plans: a third, within six deviations.
    let third = f64::from(1 << 20) / 3.0;
    assert!((counts[1] as f64 - third).abs() < 6.0 * (third * 2.0 / 3.0).sqrt(), "{counts:?}");
}

#[test]
fn a_failed_next_hop_moves_its_own_flows_in_every_group() {
    let outcome = many_groups::run(320, 500).unwrap();
    // By hand: 7 g + 11 m = 5 (mod 64) has one g in 64 for each of eight m.
    assert_eq!(outcome.changed, 320 / 64 * 8);
    assert_eq!(outcome.moved, outcome.lost);
    assert!(outcome.lost > outcome.changed * 500 / 16, "{outcome:?}");
}

/// Sends one datagram of each client, and returns the backend of each.
fn round(clients: &[UdpSocket], to: SocketAddr, received: &Receiver<(usize, u16)>) -> Vec<usize> {
    let mut backend = HashMap::new();
    for client in clients {
        client.send_to(&client.local_addr().unwrap().port().to_be_bytes(), to).unwrap();
        // One datagram at a time: none can be lost for want of room.
        let (number, port) = received.recv_timeout(DEADLINE).unwrap();
        assert_eq!(port, client.local_addr().unwrap().port());
        backend.insert(port, number);
    }
    clients.iter().map(|client| backend[&client.local_addr().unwrap().port()]).collect()
}

#[test]
fn the_load_balancer_keeps_senders_where_they_are() {
    let open = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let sockets = [(); 4].map(|()| open());
    let addresses = sockets.each_ref().map(|socket| socket.local_addr().unwrap());
    let clients = (0..200).map(|_| open()).collect::<Vec<_>>();
    let weights = ["4", "3", "2"].map(String::from);
    let balancer = LoadBalancer::bind("127.0.0.1:0", addresses[..3].to_vec(), &weights).unwrap();
    let (report, received) = channel();
    thread::scope(|scope| {
        for (number, socket) in sockets.iter().enumerate() {
            let report = report.clone();
            scope.spawn(move || {
                let mut port = [0; 2];
                // An empty datagram ends it.
                while socket.recv(&mut port).unwrap() > 0 {
                    report.send((number, u16::from_be_bytes(port))).unwrap();
                }
            });
        }
        let threads = [(); 2].map(|()| scope.spawn(|| balancer.forward()));
        let checks = catch_unwind(AssertUnwindSafe(|| checks(&balancer, &clients, addresses[3], &received)));
        balancer.stop();
        let _ = threads.map(|thread| thread.join().unwrap().unwrap());
        addresses.iter().for_each(|address| drop(clients[0].send_to(&[], address)));
        if let Err(panic) = checks {
            resume_unwind(panic);
        }
    });
}

fn checks(
    balancer: &LoadBalancer,
    clients: &[UdpSocket],
    further: SocketAddr,
    received: &Receiver<(usize, u16)>,
) {
    let round = || round(clients, balancer.address(), received);
    let first = round();
    assert!((0..3).all(|number| first.contains(&number)), "{first:?}");
    assert_eq!(round(), first);
    balancer.change("down 2").unwrap();
    let less = round();
    assert!(first.iter().zip(&less).all(|(a, b)| *b != 1 && (a == b || *a == 1)), "{first:?} {less:?}");
    balancer.change("up 2").unwrap();
    assert_eq!(round(), first);
    balancer.change(&format!("weights 4,3,2,9 {further}")).unwrap();
    let more = round();
    assert!(more.contains(&3) && first.iter().zip(&more).all(|(a, b)| a == b || *b == 3), "{more:?}");
    for wrong in ["down 9", "down x", "weights 1,2", "weights 0,0,0,0", "sideways"] {
        assert!(balancer.change(wrong).is_err(), "{wrong}");
    }
    assert_eq!(round(), more);
}
