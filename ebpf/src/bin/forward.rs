//! Forwarder without a scheme, for the benchmarks to compare with: parse, look up a way out, count, leave.

#![no_std]
#![no_main]

use anabranch_ebpf::frame::{self, Frame};
use anabranch_ebpf::hook::{Hook, Tc, Xdp};
use anabranch_ebpf::split::count;
use anabranch_kernel::layout::{Head, MEMBERS};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::Array;
use aya_ebpf::programs::{TcContext, XdpContext};

#[map]
static WAYS: Array<Head> = Array::with_max_entries(1, 0);

/// `member` is whose counter the packet goes into.
#[inline(always)]
fn through<H: Hook>(packet: H, member: impl FnOnce(&Frame) -> u32) -> i32 {
    let find = |_| {
        let head = WAYS.get(0)?;
        Some((head, head.seed))
    };
    let Some((head, frame)) = frame::read(packet, find) else { return H::PASS };
    count(packet, 0, member(&frame) % MEMBERS as u32);
    packet.leave(head, &frame, head.targets[0])
}

/// The key is not asked for, so that the compiler leaves it out.
#[classifier]
pub fn forward(context: TcContext) -> i32 {
    through(Tc::of(&context), |frame| frame.ip)
}

/// With the key, which chooses the counter.
#[classifier]
pub fn forward_key(context: TcContext) -> i32 {
    through(Tc::of(&context), |frame| frame.key)
}

/// XDP counterpart of `forward`.
#[xdp]
pub fn forward_xdp(context: XdpContext) -> u32 {
    through(Xdp::of(&context), |frame| frame.ip) as u32
}

/// XDP counterpart of `forward_key`.
#[xdp]
pub fn forward_key_xdp(context: XdpContext) -> u32 {
    through(Xdp::of(&context), |frame| frame.key) as u32
}
