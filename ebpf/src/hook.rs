//! Hooks of programs, tc and XDP: the packet at each, and the verdict that the kernel gets.

use crate::frame::Frame;
use crate::{mark, route};
use anabranch_kernel::layout::{Gateway, Head, Output};
use aya_ebpf::bindings::xdp_action::{XDP_DROP, XDP_PASS};
use aya_ebpf::bindings::{__sk_buff, TC_ACT_SHOT, TC_ACT_UNSPEC, xdp_md};
use aya_ebpf::helpers::{bpf_redirect, bpf_skb_pull_data};
use aya_ebpf::programs::{TcContext, XdpContext};

/// A packet at a hook.
pub trait Hook: Copy {
    /// The packet goes on as if the program were not there.
    const PASS: i32;
    /// The packet ends here.
    const DROP: i32;

    /// Addresses of its first byte, and behind the last that lies in one piece with it.
    fn piece(self) -> (usize, usize);

    /// Brings its first bytes into one piece, as many of these as it has; whether that can have changed anything.
    fn pull(self, bytes: u32) -> bool;

    /// Bytes from the link layer's header on.
    fn bytes(self) -> u32;

    /// Packets on the wire that it stands for: what a host hands over whole, or has put together, is cut up behind the
    /// programs (GSO, GRO).
    fn segments(self) -> u32;

    /// Clock of a packet that is tried.
    fn replayed_ns(self) -> u64;

    /// Random bits of a packet that is tried.
    fn replayed_random(self) -> u32;

    /// Sends it by a member with this target; returns the verdict.
    fn leave(self, head: &Head, frame: &Frame, target: u32) -> i32;

    /// Whether a router forwards it; all else is the kernel's.
    fn is_forwarded(self, frame: &Frame) -> bool;

    /// Sends it by a device to a gateway, as a router does; returns the verdict, or `None` for what is the kernel's.
    fn route(self, frame: &Frame, device: u32, gateway: &Gateway) -> Option<i32>;
}

/// At tc, on ingress or egress.
#[derive(Clone, Copy)]
pub struct Tc(*mut __sk_buff);

impl Tc {
    /// The packet that a classifier is called with.
    #[inline(always)]
    pub fn of(context: &TcContext) -> Self {
        Self(context.skb.skb)
    }
}

impl Hook for Tc {
    // Not OK, which ends the chain: another's program may stand behind this one.
    const PASS: i32 = TC_ACT_UNSPEC;
    const DROP: i32 = TC_ACT_SHOT;

    #[inline(always)]
    fn piece(self) -> (usize, usize) {
        // SAFETY: the context is the kernel's.
        unsafe { ((*self.0).data as usize, (*self.0).data_end as usize) }
    }

    #[inline(always)]
    fn pull(self, bytes: u32) -> bool {
        // SAFETY: the context is the kernel's.
        unsafe { bpf_skb_pull_data(self.0, (*self.0).len.min(bytes)) == 0 }
    }

    #[inline(always)]
    fn bytes(self) -> u32 {
        // SAFETY: the context is the kernel's.
        unsafe { (*self.0).len }
    }

    #[inline(always)]
    fn segments(self) -> u32 {
        // SAFETY: the context is the kernel's.
        unsafe { (*self.0).gso_segs }.max(1)
    }

    #[inline(always)]
    fn replayed_ns(self) -> u64 {
        // SAFETY: the context is the kernel's.
        unsafe { (*self.0).tstamp }
    }

    #[inline(always)]
    fn replayed_random(self) -> u32 {
        // SAFETY: the context is the kernel's.
        unsafe { (*self.0).mark }
    }

    #[inline(always)]
    fn leave(self, head: &Head, frame: &Frame, target: u32) -> i32 {
        if head.output == Output::Redirect as u32 {
            // SAFETY: numbers are all it takes.
            return unsafe { bpf_redirect(target, 0) as i32 };
        }
        let context = TcContext::new(self.0);
        let marked = match head.output {
            output if output == Output::Dscp as u32 => mark::dscp(&context, frame, target),
            output if output == Output::FlowLabel as u32 => mark::flow_label(&context, frame, target),
            _ => mark::tunnel_port(&context, frame, target),
        };
        if marked.is_ok() { Self::PASS } else { Self::DROP }
    }

    #[inline(always)]
    fn is_forwarded(self, frame: &Frame) -> bool {
        route::is_forwarded(&TcContext::new(self.0), frame)
    }

    #[inline(always)]
    fn route(self, frame: &Frame, device: u32, gateway: &Gateway) -> Option<i32> {
        route::leave(&TcContext::new(self.0), frame, device, gateway)
    }
}

/// At XDP, before the kernel has made more of a frame than its bytes. Nothing is marked here.
#[derive(Clone, Copy)]
pub struct Xdp(*mut xdp_md);

impl Xdp {
    /// The packet that an XDP program is called with.
    #[inline(always)]
    pub fn of(context: &XdpContext) -> Self {
        Self(context.ctx)
    }

    /// A word of what stands before the packet for programs' own use.
    #[inline(always)]
    fn metadata<T: Copy>(self, offset: usize) -> Option<T> {
        // SAFETY: the context is the kernel's.
        let (start, end) = unsafe { ((*self.0).data_meta as usize, (*self.0).data as usize) };
        let at = start + offset;
        // SAFETY: it lies before the packet.
        (at + size_of::<T>() <= end).then(|| unsafe { core::ptr::read(at as *const T) })
    }
}

impl Hook for Xdp {
    const PASS: i32 = XDP_PASS as i32;
    const DROP: i32 = XDP_DROP as i32;

    #[inline(always)]
    fn piece(self) -> (usize, usize) {
        // SAFETY: the context is the kernel's.
        unsafe { ((*self.0).data as usize, (*self.0).data_end as usize) }
    }

    #[inline(always)]
    fn pull(self, _bytes: u32) -> bool {
        // Frames of several buffers are kept from programs that do not ask for them.
        false
    }

    #[inline(always)]
    fn bytes(self) -> u32 {
        let (start, end) = self.piece();
        // The verifier refuses pointers of 32 bits, to which the compiler would narrow a difference that is cut off.
        (end - start).min(u32::MAX as usize) as u32
    }

    #[inline(always)]
    fn segments(self) -> u32 {
        1
    }

    #[inline(always)]
    fn replayed_ns(self) -> u64 {
        self.metadata(0).unwrap_or(0)
    }

    #[inline(always)]
    fn replayed_random(self) -> u32 {
        self.metadata(8).unwrap_or(0)
    }

    #[inline(always)]
    fn leave(self, head: &Head, _frame: &Frame, target: u32) -> i32 {
        if head.output != Output::Redirect as u32 {
            return Self::PASS;
        }
        // SAFETY: numbers are all it takes.
        unsafe { bpf_redirect(target, 0) as i32 }
    }

    #[inline(always)]
    fn is_forwarded(self, _frame: &Frame) -> bool {
        false
    }

    #[inline(always)]
    fn route(self, _frame: &Frame, _device: u32, _gateway: &Gateway) -> Option<i32> {
        None
    }
}
