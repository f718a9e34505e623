//! Halves of connections of any transport, and the one place that tells them apart.

#![deny(clippy::wildcard_enum_match_arm)] // A forgotten transport must not compile.

use super::datagrams::{DatagramReceiver, Datagrams};
use super::mptcp::Mptcp;
use super::protocol::{Bounds, Grant, ReceivingHalf, Reception, SendingHalf, Stored};
use super::roce::{Roce, RoceReceiver, RoceSender};
use super::uec::{Uec, UecReceiver, UecSender};
use super::{Host, Receiver, ReceiverCounters, Sender, SenderCounters, Tcp, Transport, Udp};
use crate::transport::control::Kept;
use crate::{Framing, Packet};

/// The sending half. It stands in its connection, so that it can be fetched before the connection has been read.
#[expect(clippy::large_enum_variant, reason = "most connections are streams, whose state is to stand here")]
pub(crate) enum AnySender {
    /// A stream.
    Stream(Sender),
    /// Datagrams.
    Datagrams(Box<Datagrams>),
    /// A queue pair of RoCE.
    Roce(Box<RoceSender>),
    /// UEC.
    Uec(Box<UecSender>),
}

/// The receiving half; where it stands, see [`AnySender`].
#[derive(Clone)]
pub(crate) enum AnyReceiver {
    /// A stream.
    Stream(Receiver),
    /// Datagrams.
    Datagrams(Box<DatagramReceiver>),
    /// A queue pair of RoCE.
    Roce(Box<RoceReceiver>),
    /// UEC.
    Uec(Box<UecReceiver>),
}

/// Settings whose connections have halves.
trait Halves: Sized {
    type Sender: SendingHalf<Self> + Stored<AnySender>;
    type Receiver: ReceivingHalf<Self> + Stored<AnyReceiver>;
}

/// A half that stands apart in a box.
macro_rules! boxed {
    ($any:ident::$variant:ident($half:ty)) => {
        impl Stored<$any> for $half {
            fn of(any: &$any) -> Option<&Self> {
                if let $any::$variant(half) = any { Some(half) } else { None }
            }

            fn of_mut(any: &mut $any) -> Option<&mut Self> {
                if let $any::$variant(half) = any { Some(half) } else { None }
            }

            fn store(any: &mut $any) {
                *any = $any::$variant(Box::default());
            }
        }
    };
}

/// A half that stands in its connection. One that is there already becomes new again: what it has allocated stays.
macro_rules! inline {
    ($any:ident::$variant:ident($half:ty)) => {
        impl Stored<$any> for $half {
            #[inline(always)]
            fn of(any: &$any) -> Option<&Self> {
                if let $any::$variant(half) = any { Some(half) } else { None }
            }

            #[inline(always)]
            fn of_mut(any: &mut $any) -> Option<&mut Self> {
                if let $any::$variant(half) = any { Some(half) } else { None }
            }

            fn store(any: &mut $any) {
                match Self::of_mut(any) {
                    Some(half) => half.reset(),
                    None => *any = $any::$variant(Self::default()),
                }
            }
        }
    };
}

inline!(AnySender::Stream(Sender));
inline!(AnyReceiver::Stream(Receiver));
boxed!(AnySender::Datagrams(Datagrams));
boxed!(AnyReceiver::Datagrams(DatagramReceiver));
boxed!(AnySender::Roce(RoceSender));
boxed!(AnyReceiver::Roce(RoceReceiver));
boxed!(AnySender::Uec(UecSender));
boxed!(AnyReceiver::Uec(UecReceiver));

impl Halves for Tcp {
    type Sender = Sender;
    type Receiver = Receiver;
}

impl Halves for Udp {
    type Sender = Datagrams;
    type Receiver = DatagramReceiver;
}

impl Halves for Roce {
    type Sender = RoceSender;
    type Receiver = RoceReceiver;
}

impl Halves for Uec {
    type Sender = UecSender;
    type Receiver = UecReceiver;
}

/// The one dispatch: an expression over the settings of a connection of this transport. Most packets
/// are of streams, whose steps are to stand where they are asked for; the others' stand apart.
macro_rules! dispatch {
    ($transport:expr, $settings:ident => $step:expr) => {
        match $transport {
            Transport::Tcp($settings) | Transport::Mptcp(Mptcp { tcp: $settings, .. }) => $step,
            Transport::Udp($settings) => apart(|| $step),
            Transport::Roce($settings) => apart(|| $step),
            Transport::Uec($settings) => apart(|| $step),
        }
    };
}

/// Does a step in a function of its own.
#[inline(never)]
fn apart<R>(step: impl FnOnce() -> R) -> R {
    step()
}

/// A connection is opened with the halves of its transport, and keeps both.
#[cold]
fn foreign() -> ! {
    unreachable!("a connection has the halves of its transport")
}

#[inline(always)]
fn sender<'a, S: Halves>(_: &S, any: &'a AnySender) -> &'a S::Sender {
    Stored::of(any).unwrap_or_else(|| foreign())
}

#[inline(always)]
fn sender_mut<'a, S: Halves>(_: &S, any: &'a mut AnySender) -> &'a mut S::Sender {
    Stored::of_mut(any).unwrap_or_else(|| foreign())
}

#[inline(always)]
fn receiver<'a, S: Halves>(_: &S, any: &'a AnyReceiver) -> &'a S::Receiver {
    Stored::of(any).unwrap_or_else(|| foreign())
}

#[inline(always)]
fn receiver_mut<'a, S: Halves>(_: &S, any: &'a mut AnyReceiver) -> &'a mut S::Receiver {
    Stored::of_mut(any).unwrap_or_else(|| foreign())
}

impl Transport {
    /// Stores new halves of a connection.
    pub(crate) fn store_halves(&self, sending: &mut AnySender, receiving: &mut AnyReceiver) {
        fn store<S: Halves>(_: &S, sending: &mut AnySender, receiving: &mut AnyReceiver) {
            S::Sender::store(sending);
            S::Receiver::store(receiving);
        }
        dispatch!(self, settings => store(settings, sending, receiving));
    }
}

/// [`SendingHalf`] of the half of this transport.
impl AnySender {
    pub(crate) fn begin<H: Host>(
        &mut self,
        transport: &Transport,
        framing: Framing,
        bytes: u64,
        kept: Option<Kept>,
        host: &mut H,
    ) {
        dispatch!(transport, settings => sender_mut(settings, self).begin(settings, framing, bytes, kept, host));
    }

    #[inline(always)]
    pub(crate) fn receive<H: Host>(
        &mut self,
        transport: &Transport,
        framing: Framing,
        packet: &Packet,
        host: &mut H,
    ) {
        dispatch!(transport, settings => sender_mut(settings, self).receive(settings, framing, packet, host));
    }

    #[inline(always)]
    pub(crate) fn wake<H: Host>(&mut self, transport: &Transport, framing: Framing, host: &mut H) {
        dispatch!(transport, settings => sender_mut(settings, self).wake(settings, framing, host));
    }

    #[inline(always)]
    pub(crate) fn resume<H: Host>(&mut self, transport: &Transport, framing: Framing, host: &mut H) {
        dispatch!(transport, settings => sender_mut(settings, self).resume(settings, framing, host));
    }

    #[inline(always)]
    pub(crate) fn is_idle(&self, transport: &Transport) -> bool {
        dispatch!(transport, settings => sender(settings, self).is_idle())
    }

    pub(crate) fn counters(&self, transport: &Transport) -> SenderCounters {
        dispatch!(transport, settings => sender(settings, self).counters())
    }

    pub(crate) fn bounds(&self, transport: &Transport) -> Bounds {
        dispatch!(transport, settings => sender(settings, self).bounds(settings))
    }

    pub(crate) fn acknowledged(&self, transport: &Transport) -> u64 {
        dispatch!(transport, settings => sender(settings, self).acknowledged())
    }

    pub(crate) fn take_sent_before(&mut self, transport: &Transport) -> Vec<(u64, u64)> {
        dispatch!(transport, settings => sender_mut(settings, self).take_sent_before())
    }

    pub(crate) fn restart_counters(&mut self, transport: &Transport) {
        dispatch!(transport, settings => sender_mut(settings, self).restart_counters());
    }

    pub(crate) fn is_sent(&self, transport: &Transport) -> bool {
        dispatch!(transport, settings => sender(settings, self).is_sent(settings))
    }

    pub(crate) fn share(&mut self, transport: &Transport, framing: Framing) -> Option<Kept> {
        dispatch!(transport, settings => sender_mut(settings, self).share(settings, framing))
    }

    pub(crate) fn leave(&mut self, transport: &Transport) -> Option<Kept> {
        dispatch!(transport, settings => sender_mut(settings, self).leave())
    }

    /// Fetches what stands apart and an answer may need; the transport has not been fetched.
    #[inline(always)]
    pub(crate) fn prefetch_apart(&self) {
        match self {
            Self::Stream(sender) => sender.prefetch_trouble(),
            Self::Datagrams(_) | Self::Roce(_) | Self::Uec(_) => {}
        }
    }
}

/// [`ReceivingHalf`] of the half of this transport.
impl AnyReceiver {
    #[inline(always)]
    pub(crate) fn receive<H: Host>(
        &mut self,
        transport: &Transport,
        framing: Framing,
        packet: &Packet,
        has_receive: impl FnOnce() -> bool,
        host: &mut H,
    ) -> (Reception, u64) {
        dispatch!(transport, settings => {
            let half = receiver_mut(settings, self);
            let reception = half.receive(settings, framing, packet, has_receive, host);
            (reception, half.delivered())
        })
    }

    /// Returns the bytes that the application has afterwards.
    pub(crate) fn wake<H: Host>(&mut self, transport: &Transport, framing: Framing, host: &mut H) -> u64 {
        dispatch!(transport, settings => {
            let half = receiver_mut(settings, self);
            half.wake(settings, framing, host);
            half.delivered()
        })
    }

    pub(crate) fn delivered(&self, transport: &Transport) -> u64 {
        dispatch!(transport, settings => receiver(settings, self).delivered())
    }

    pub(crate) fn owes_answer(&self, transport: &Transport) -> bool {
        dispatch!(transport, settings => receiver(settings, self).owes_answer())
    }

    pub(crate) fn counters(&self, transport: &Transport) -> ReceiverCounters {
        dispatch!(transport, settings => receiver(settings, self).counters())
    }

    pub(crate) fn set_counters(&mut self, transport: &Transport, counters: &ReceiverCounters) {
        dispatch!(transport, settings => receiver_mut(settings, self).set_counters(counters));
    }

    pub(crate) fn lines_up(&mut self, transport: &Transport) -> bool {
        dispatch!(transport, settings => receiver_mut(settings, self).lines_up(settings))
    }

    pub(crate) fn grant<H: Host>(
        &mut self,
        transport: &Transport,
        framing: Framing,
        ahead: bool,
        host: &mut H,
    ) -> Option<Grant> {
        dispatch!(transport, settings => receiver_mut(settings, self).grant(settings, framing, ahead, host))
    }

    /// Fetches what stands apart and data may need; the transport has not been fetched.
    #[inline(always)]
    pub(crate) fn prefetch_apart(&self) {
        match self {
            Self::Stream(receiver) => receiver.prefetch_disorder(),
            Self::Datagrams(_) | Self::Roce(_) | Self::Uec(_) => {}
        }
    }
}
