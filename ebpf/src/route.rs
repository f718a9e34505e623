//! Way out of layer 3: a packet leaves as a router forwards it, to the gateway of its member. What the kernel would not
//! forward, and what it answers with an error, is left to it.

use crate::frame::Frame;
use anabranch_kernel::layout::Gateway;
use aya_ebpf::bindings::{
    BPF_F_RECOMPUTE_CSUM, BPF_FIB_LKUP_RET_SUCCESS, BPF_FIB_LOOKUP_SKIP_NEIGH, bpf_fib_lookup,
    bpf_redir_neigh, bpf_redir_neigh__bindgen_ty_1,
};
use aya_ebpf::helpers::{bpf_check_mtu, bpf_fib_lookup as look_up, bpf_redirect_neigh};
use aya_ebpf::programs::TcContext;

/// `AF_INET` and `AF_INET6` of Linux.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// `PACKET_HOST` of linux/if_packet.h: sent to the device's own address.
const TO_US: u32 = 0;
/// Offset of the IP header in a frame without tags.
const UNTAGGED: u32 = 14;
/// `BPF_MTU_CHK_SEGS`: what will be segmented is measured by its segments.
const SEGMENTS: u64 = 1;
/// Version 4 and a header of five words, without options.
const V4_PLAIN: u8 = 0x45;
/// Bytes of a header of each version.
const V4_BYTES: u32 = 20;
const V6_BYTES: u32 = 40;
/// Next header of hop-by-hop options (RFC 8200 section 4.3), which every router reads.
const HOP_BY_HOP: u8 = 0;

/// Whether a packet is to be forwarded by the kernel's own rules. It stands before the choice of a member, where the
/// verifier has few ways to walk.
#[inline(always)]
pub fn is_forwarded(context: &TcContext, frame: &Frame) -> bool {
    let packet = context.skb.skb;
    // SAFETY: the context is the kernel's.
    let (kind, tagged) = unsafe { ((*packet).pkt_type, (*packet).vlan_present) };
    if kind != TO_US || tagged != 0 || frame.ip != UNTAGGED {
        return false;
    }
    if frame.v6 { v6_forwarded(context, frame) } else { v4_forwarded(context, frame) }.unwrap_or(false)
}

/// Sends a packet that is forwarded by a device to a gateway, its TTL or hop limit one less; returns the verdict. `None`
/// leaves the packet as it was: it is too large for the device, and the kernel's.
#[inline(always)]
pub fn leave(context: &TcContext, frame: &Frame, device: u32, gateway: &Gateway) -> Option<i32> {
    if !fits(context, device) {
        return None;
    }
    // The bytes have been read before, so there is no error to look at.
    let _ = if frame.v6 { count_v6_hop(context) } else { count_v4_hop(context) };
    let family = if gateway.version == 4 { AF_INET } else { AF_INET6 };
    let mut neighbour = bpf_redir_neigh {
        nh_family: family.into(),
        __bindgen_anon_1: bpf_redir_neigh__bindgen_ty_1 { ipv6_nh: gateway.address },
    };
    // SAFETY: the kernel reads so many bytes.
    Some(unsafe { bpf_redirect_neigh(device, &mut neighbour, size_of::<bpf_redir_neigh>() as i32, 0) } as i32)
}

/// Whether the kernel would forward an IPv4 packet: RFC 1812 sections 5.2 and 5.3.
#[inline(always)]
fn v4_forwarded(context: &TcContext, frame: &Frame) -> Option<bool> {
    let header = context.load::<[u32; 5]>(UNTAGGED as usize).ok()?;
    let [first, _, third, source, destination] = header;
    let [version_and_length, class, high, low] = first.to_ne_bytes();
    let [ttl, ..] = third.to_ne_bytes();
    // "This network", loopback, multicast and reserved: no host has such an address.
    let martian = matches!(source.to_ne_bytes()[0], 0 | 127 | 224..);
    let bytes = u32::from(u16::from_be_bytes([high, low]));
    let cut = bytes < V4_BYTES || bytes > context.skb.len() - UNTAGGED;
    if version_and_length != V4_PLAIN || ttl <= 1 || martian || cut || !is_sound(header) {
        return Some(false);
    }
    let mut asked = blank(context, AF_INET, frame.protocol);
    asked.__bindgen_anon_2.tos = class;
    asked.__bindgen_anon_3.ipv4_src = source;
    asked.__bindgen_anon_4.ipv4_dst = destination;
    Some(is_routed(context, &mut asked))
}

/// Whether the checksum of an IPv4 header is right: its words sum up to ones (RFC 1071).
#[inline(always)]
fn is_sound(header: [u32; 5]) -> bool {
    let sum = header.iter().fold(0, |sum, word| sum + (word & 0xffff) + (word >> 16));
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16) == 0xffff
}

/// Whether the kernel would forward an IPv6 packet: RFC 8200 sections 3 and 4.3. Addresses of a link, and of many, its
/// routes refuse.
#[inline(always)]
fn v6_forwarded(context: &TcContext, frame: &Frame) -> Option<bool> {
    let [first, second, s0, s1, s2, s3, d0, d1, d2, d3] =
        context.load::<[u32; 10]>(UNTAGGED as usize).ok()?;
    let [bytes_high, bytes_low, next, hops] = second.to_ne_bytes();
    let bytes = V6_BYTES + u32::from(u16::from_be_bytes([bytes_high, bytes_low]));
    if next == HOP_BY_HOP || hops <= 1 || bytes > context.skb.len() - UNTAGGED {
        return Some(false);
    }
    let mut asked = blank(context, AF_INET6, frame.protocol);
    asked.__bindgen_anon_2.flowinfo = first & 0x0fff_ffff_u32.to_be();
    asked.__bindgen_anon_3.ipv6_src = [s0, s1, s2, s3];
    asked.__bindgen_anon_4.ipv6_dst = [d0, d1, d2, d3];
    Some(is_routed(context, &mut asked))
}

/// A question to the kernel's routes, without addresses.
#[inline(always)]
fn blank(context: &TcContext, family: u8, protocol: u8) -> bpf_fib_lookup {
    // SAFETY: integers, for which zero is a value.
    let mut asked: bpf_fib_lookup = unsafe { core::mem::zeroed() };
    asked.family = family;
    asked.l4_protocol = protocol;
    // SAFETY: the context is the kernel's.
    asked.ifindex = unsafe { (*context.skb.skb).ifindex };
    // Fits any device: what counts is the one that the packet leaves by (`fits`).
    asked.__bindgen_anon_1.tot_len = 1;
    asked
}

/// Whether the kernel's routes forward a packet: not to the machine itself, not to many, and not refused.
#[inline(always)]
fn is_routed(context: &TcContext, asked: &mut bpf_fib_lookup) -> bool {
    let bytes = size_of::<bpf_fib_lookup>() as i32;
    // SAFETY: the kernel reads and writes so many bytes.
    let answer = unsafe { look_up(context.skb.skb.cast(), asked, bytes, BPF_FIB_LOOKUP_SKIP_NEIGH) };
    answer == i64::from(BPF_FIB_LKUP_RET_SUCCESS)
}

/// Whether a device takes a packet without cutting it into fragments.
#[inline(always)]
fn fits(context: &TcContext, device: u32) -> bool {
    let mut mtu_bytes = 0;
    // SAFETY: the kernel writes the device's MTU.
    unsafe { bpf_check_mtu(context.skb.skb.cast(), device, &mut mtu_bytes, 0, SEGMENTS) == 0 }
}

/// TTL and protocol are one word of the checksum (RFC 1624).
#[inline(always)]
fn count_v4_hop(context: &TcContext) -> Result<(), i64> {
    let at = UNTAGGED as usize;
    let old = context.load::<u16>(at + 8).unwrap_or_default();
    let [ttl, protocol] = old.to_ne_bytes();
    let new = u16::from_ne_bytes([ttl.wrapping_sub(1), protocol]);
    let _ = context.l3_csum_replace(at + 10, old.into(), new.into(), 2);
    context.store(at + 8, &new, 0)
}

/// IPv6 has no checksum of its own, but the device may have summed the frame.
#[inline(always)]
fn count_v6_hop(context: &TcContext) -> Result<(), i64> {
    let at = UNTAGGED as usize + 7;
    let hops = context.load::<u8>(at).unwrap_or_default();
    context.store(at, &hops.wrapping_sub(1), BPF_F_RECOMPUTE_CSUM.into())
}
