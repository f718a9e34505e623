//! Network that a program in C drives.

use crate::argument::{array, array_mut, handle, new_handle, pairs, result, text};
use crate::outcome::{Failure, Status, answer, refused, status};
use anabranch_network::{DrivenNetwork, MessageEnd, UNINTERRUPTED};
use anabranch_scenario::Scenario;
use std::collections::VecDeque;
use std::ffi::c_char;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Network of a scenario that a program drives: it sends messages, lets time pass, and asks what has ended.
pub struct Network(Mutex<Driven>);

struct Driven {
    network: DrivenNetwork,
    /// Messages that have ended and for which the caller had no room.
    done: VecDeque<MessageEnd>,
}

/// No time: "now" for a message, "whenever" for a limit, "never" for an event.
pub const NO_TIME: u64 = u64::MAX;

/// Message to send.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Payload in bytes, at least one.
    pub bytes: u64,
    /// Time at which it is sent, in picoseconds; ANABRANCH_NO_TIME: now.
    pub at_ps: u64,
    /// Number of the host that sends, from 0.
    pub src: u32,
    /// Number of the host that receives; another one.
    pub dst: u32,
    /// Transport: 0 is the scenario's own, further ones those that its traffic names, in their order.
    pub transport: u8,
}

/// End of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Time at which it ended, in picoseconds.
    pub at_ps: u64,
    /// Number of the message, as anabranch_network_send wrote it.
    pub message: u32,
    /// 1 if all of it was delivered; 0 for datagrams of which some were lost.
    pub whole: u8,
}

impl Network {
    /// The network, which one thread drives at a time.
    fn lock(&self) -> Result<MutexGuard<'_, Driven>, Failure> {
        match self.0.try_lock() {
            Ok(driven) => Ok(driven),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                refused("network: another thread drives it", "let one thread at a time call it")
            }
        }
    }
}

impl Message {
    fn sent(self) -> anabranch_network::Message {
        let Self { bytes, at_ps, src, dst, transport } = self;
        let at_ps = (at_ps != NO_TIME).then_some(at_ps);
        anabranch_network::Message { src, dst, bytes, at_ps, transport }
    }
}

/// The network of a text that came from `file`.
fn driven(text: &str, file: &str, set: &[(String, String)], background: bool) -> Result<Network, Failure> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let scenario = Scenario::parse_driven(text, file, set)?.resolve(folder)?;
    let network = DrivenNetwork::new(Arc::new(scenario), background)?;
    Ok(Network(Mutex::new(Driven { network, done: VecDeque::new() })))
}

/// Opens the network of a scenario file at time 0. `settings` are `settings_len` keys to set, each "key=value" as in
/// "routing.balance=ecmp"; NULL and 0 for none. `background`: with the traffic of the scenario beside what is sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_open(
    file: *const c_char,
    settings: *const *const c_char,
    settings_len: usize,
    background: bool,
    network: *mut *mut Network,
) -> Status {
    let new = || {
        // SAFETY: the header says what these have to be.
        let (file, settings) = unsafe { (text("file", file)?, pairs("settings", settings, settings_len)?) };
        let text = fs::read_to_string(file).or_else(|error| {
            refused(&format!("{file}: cannot be read: {error}"), "give the name of a scenario file")
        })?;
        driven(&text, file, &settings, background)
    };
    // SAFETY: the same.
    status(|| unsafe { new_handle("network", network, new) })
}

/// Opens the network of a scenario's text. `file` is the name that errors show; files that the scenario names are
/// relative to its folder. Else as anabranch_network_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_of_text(
    scenario: *const c_char,
    file: *const c_char,
    settings: *const *const c_char,
    settings_len: usize,
    background: bool,
    network: *mut *mut Network,
) -> Status {
    let new = || {
        // SAFETY: the header says what these have to be.
        let (scenario, file, settings) = unsafe {
            (text("scenario", scenario)?, text("file", file)?, pairs("settings", settings, settings_len)?)
        };
        driven(scenario, file, &settings, background)
    };
    // SAFETY: the same.
    status(|| unsafe { new_handle("network", network, new) })
}

/// Number of hosts, which are numbered from 0; 0 if there is no network.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_hosts(network: Option<&Network>) -> u32 {
    answer(|| Ok(handle("network", network)?.lock()?.network.resolved().fabric().hosts())).unwrap_or(0)
}

/// Writes the number of the host of a name, as in "host3".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_host(
    network: Option<&Network>,
    name: *const c_char,
    host: *mut u32,
) -> Status {
    status(|| {
        // SAFETY: the header says what these have to be.
        let (name, host) = unsafe { (text("name", name)?, result("host", host)?) };
        host.write(handle("network", network)?.lock()?.network.host(name)?);
        Ok(())
    })
}

/// Present time in picoseconds; ANABRANCH_NO_TIME if there is no network or another thread drives it.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_now(network: Option<&Network>) -> u64 {
    answer(|| Ok(handle("network", network)?.lock()?.network.now_ps())).unwrap_or(NO_TIME)
}

/// Time of the next event in picoseconds: nothing ends before it, unless it is sent before. ANABRANCH_NO_TIME if nothing
/// will happen, as after an error.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_next_event(network: Option<&Network>) -> u64 {
    let next = answer(|| Ok(handle("network", network)?.lock()?.network.next_event_ps()));
    next.ok().flatten().unwrap_or(NO_TIME)
}

/// Writes the least time that a message takes on the fabric as built, in picoseconds, whatever else is under way; its
/// own time is not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_ideal(
    network: Option<&Network>,
    message: Message,
    time_ps: *mut u64,
) -> Status {
    status(|| {
        // SAFETY: the header says what it has to be.
        let time_ps = unsafe { result("time_ps", time_ps) }?;
        let message = Message { at_ps: NO_TIME, ..message };
        time_ps.write(handle("network", network)?.lock()?.network.ideal_ps(message.sent())?);
        Ok(())
    })
}

/// Sends a message. Writes its number, which its end will have, unless `number` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_send(
    network: Option<&Network>,
    message: Message,
    number: *mut u32,
) -> Status {
    // SAFETY: a message of this function, and what the header says.
    unsafe { anabranch_network_send_many(network, &raw const message, 1, number) }
}

/// Sends `messages_len` messages: all of them, or none. They have consecutive numbers; writes the first, unless `first`
/// is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_send_many(
    network: Option<&Network>,
    messages: *const Message,
    messages_len: usize,
    first: *mut u32,
) -> Status {
    status(|| {
        let network = handle("network", network)?;
        // SAFETY: the header says what these have to be.
        let (messages, first) = unsafe {
            let first = if first.is_null() { None } else { Some(result("first", first)?) };
            (array("messages", messages, messages_len)?, first)
        };
        let numbers = network.lock()?.network.send_all(messages.iter().map(|message| message.sent()))?;
        if let Some(first) = first {
            first.write(numbers.start);
        }
        Ok(())
    })
}

/// Changes the fabric as the scenario's tables `[[change]]` would, whose text `changes` is; a time `at` that is over is
/// refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_change(
    network: Option<&Network>,
    changes: *const c_char,
) -> Status {
    status(|| {
        let mut driven = handle("network", network)?.lock()?;
        // SAFETY: the header says what it has to be.
        let changes = driven.network.resolved().changes_of(unsafe { text("changes", changes) }?, "change")?;
        Ok(driven.network.change(&changes)?)
    })
}

/// Lets everything happen that comes before a time in picoseconds, and nothing of that time itself.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_run_until(network: Option<&Network>, time_ps: u64) -> Status {
    status(|| {
        handle("network", network)?.lock()?.network.run_until(time_ps, UNINTERRUPTED)?;
        Ok(())
    })
}

/// Goes on until a message ends, or to `time_ps` if none does before; with ANABRANCH_NO_TIME to 10 s after the last
/// message was to be sent. Stays if ends wait that nobody has taken, and without a time if no message is open.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_run_until_any_done(network: Option<&Network>, time_ps: u64) -> Status {
    status(|| {
        let mut driven = handle("network", network)?.lock()?;
        if driven.done.is_empty() {
            let time_ps = (time_ps != NO_TIME).then_some(time_ps);
            driven.network.run_until_any_done(time_ps, UNINTERRUPTED)?;
        }
        Ok(())
    })
}

/// Number of messages that were sent and have not ended; 0 if there is no network.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_unfinished(network: Option<&Network>) -> usize {
    answer(|| Ok(handle("network", network)?.lock()?.network.open())).unwrap_or(0)
}

/// Number of messages that have ended and that nobody has taken; 0 if there is no network.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_done(network: Option<&Network>) -> usize {
    let done = |driven: &Driven| driven.done.len() + driven.network.done().len();
    answer(|| Ok(done(&*handle("network", network)?.lock()?))).unwrap_or(0)
}

/// Takes at most `room` messages that have ended, in the order in which they ended, into `ends`, and writes how many
/// those are. The others stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_network_take_done(
    network: Option<&Network>,
    ends: *mut End,
    room: usize,
    taken: *mut usize,
) -> Status {
    status(|| {
        // SAFETY: the header says what these have to be.
        let (ends, taken) = unsafe { (array_mut("ends", ends, room)?, result("taken", taken)?) };
        taken.write(0);
        let Driven { network, done } = &mut *handle("network", network)?.lock()?;
        done.extend(network.take_done());
        let count = ends.len().min(done.len());
        for (end, MessageEnd { message, at_ps, whole }) in ends.iter_mut().zip(done.drain(..count)) {
            *end = End { at_ps, message, whole: u8::from(whole) };
        }
        taken.write(count);
        Ok(())
    })
}

/// Frees a network, or nothing if it is NULL. Its simulation's thread has ended when this returns.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_network_free(network: Option<Box<Network>>) {
    let _ = answer(|| {
        if let Some(network) = network {
            network.lock()?.network.close();
        }
        Ok(())
    });
}
