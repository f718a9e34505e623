//! UDP load balancer: the datagrams of one sender go to one backend, senders are shared out by weight.
//!
//! `cargo run --release --example udp_load_balancer -- 127.0.0.1:6343 127.0.0.1:7001=4 127.0.0.1:7002=3`
//!
//! It is for datagrams that nobody answers, as those of sFlow, NetFlow, syslog and statsd. Lines on standard input change
//! the group while threads forward: `down 2`, `up 2`, `weights 1,3`, and `weights 1,3,2 127.0.0.1:7003` with one more.

use anabranch_split::{FiveTuple, Group, Hash, Members, Parameters, PlanError, Weights, protocol};
use std::error::Error;
use std::io::{ErrorKind, stdin};
use std::net::{SocketAddr, UdpSocket};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const USAGE: &str = "usage: udp_load_balancer ADDRESS:PORT BACKEND:PORT=WEIGHT...";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().ok_or(USAGE)?;
    let (mut backends, mut weights) = (Vec::new(), Vec::new());
    for argument in arguments {
        let (backend, weight) = argument.split_once('=').ok_or(USAGE)?;
        backends.push(backend.parse()?);
        weights.push(weight.to_string());
    }
    let balancer = LoadBalancer::bind(&listen, backends, &weights)?;
    say(&format!("listening at {}", balancer.address()));
    thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(|| balancer.forward())));
        for line in stdin().lines().map_while(Result::ok) {
            if let Err(error) = balancer.change(&line) {
                say(&error.to_string());
            }
        }
        balancer.stop();
    });
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a program says where it listens, and what was wrong")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// Socket, group and backends; a backend's place is its member number.
pub(crate) struct LoadBalancer {
    socket: UdpSocket,
    address: SocketAddr,
    group: Group,
    backends: RwLock<Vec<SocketAddr>>,
    stopped: AtomicBool,
}

impl LoadBalancer {
    /// Opens the socket and plans the group.
    pub(crate) fn bind(
        listen: &str,
        backends: Vec<SocketAddr>,
        weights: &[String],
    ) -> Result<Self, Box<dyn Error>> {
        let socket = UdpSocket::bind(listen)?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let members = Members::all_up(Weights::parse(weights)?);
        let group = Group::new("min-move", &members, &Parameters::default())?;
        let (address, stopped) = (socket.local_addr()?, AtomicBool::new(false));
        Ok(Self { socket, address, group, backends: RwLock::new(backends), stopped })
    }

    /// Address of the socket.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards datagrams until [`Self::stop`]. Any number of threads may do it at once.
    pub(crate) fn forward(&self) -> std::io::Result<()> {
        let mut datagram = vec![0; 1 << 16];
        let mut reader = self.group.reader();
        while !self.stopped.load(Ordering::Relaxed) {
            let (len, sender) = match self.socket.recv_from(&mut datagram) {
                Ok(received) => received,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(error) => return Err(error),
            };
            let member = usize::from(reader.pick(self.key(sender)));
            let backends = self.backends.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            // As everywhere with UDP: what cannot be sent is lost.
            let _ = self.socket.send_to(&datagram[..len], backends[member]);
        }
        Ok(())
    }

    /// Ends all threads that forward, within a tenth of a second.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Changes the group by one line of text. Connections of other backends stay where they are.
    pub(crate) fn change(&self, line: &str) -> Result<(), Box<dyn Error>> {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            [word @ ("down" | "up"), number] => {
                let index = number.parse::<usize>()?.checked_sub(1).ok_or("backends are numbered from 1")?;
                self.group.update_with(|members| {
                    let mut up = members.up().to_vec();
                    let unknown = || PlanError::new(format!("backend {number}: unknown"), "see the list");
                    *up.get_mut(index).ok_or_else(unknown)? = word == "up";
                    Members::new(members.weights().clone(), up)
                })?;
            }
            ["weights", weights, ref further @ ..] => {
                let further =
                    further.iter().map(|text| text.parse()).collect::<Result<Vec<SocketAddr>, _>>()?;
                let weights = Weights::parse(&weights.split(',').collect::<Vec<_>>())?;
                // Who picks a new member waits here for its address.
                let mut backends = self.backends.write().unwrap_or_else(std::sync::PoisonError::into_inner);
                if weights.as_slice().len() != backends.len() + further.len() {
                    return Err("give a weight for each backend".into());
                }
                self.group.update(&Members::all_up(weights))?;
                backends.extend(further);
            }
            _ => return Err(format!("{line}: unknown; write down N, up N or weights W,W,...").into()),
        }
        Ok(())
    }

    /// Key of the sender's flow.
    fn key(&self, sender: SocketAddr) -> u64 {
        let tuple = match (sender, self.address) {
            (SocketAddr::V4(from), SocketAddr::V4(to)) => {
                FiveTuple::v4(from.ip().octets(), to.ip().octets(), protocol::UDP, from.port(), to.port())
            }
            (SocketAddr::V6(from), SocketAddr::V6(to)) => {
                FiveTuple::v6(from.ip().octets(), to.ip().octets(), protocol::UDP, from.port(), to.port())
            }
            _ => return 0, // A socket has senders of its own family only.
        };
        Hash::Xxh3.key(&tuple, 0)
    }
}
