//! Fields that other switches hash or match, overwritten with their checksums.

use crate::frame::Frame;
use anabranch_split::protocol::UDP;
use aya_ebpf::bindings::BPF_F_MARK_MANGLED_0;
use aya_ebpf::programs::TcContext;

/// Ports of VXLAN (RFC 7348) and GENEVE (RFC 8926).
const TUNNELS: [u16; 2] = [4789, 6081];
/// ECN's two bits of the former type-of-service byte (RFC 3168).
const ECN: u8 = 3;

/// Writes a DSCP and leaves ECN as it is.
#[inline(always)]
pub fn dscp(context: &TcContext, frame: &Frame, value: u32) -> Result<(), i64> {
    let at = frame.ip as usize;
    let value = (value as u8) << 2;
    if frame.v6 {
        // Version, traffic class and flow label share the first word (RFC 8200 section 3).
        let word = u32::from_be(context.load::<u32>(at)?);
        let kept = word & !(0xff << 20) | word & u32::from(ECN) << 20;
        return context.store(at, &(kept | u32::from(value) << 20).to_be(), 0);
    }
    let old = context.load::<u16>(at)?;
    let [version, class] = old.to_ne_bytes();
    let new = u16::from_ne_bytes([version, value | class & ECN]);
    context.l3_csum_replace(at + 10, old.into(), new.into(), 2)?;
    context.store(at, &new, 0)
}

/// Writes an IPv6 flow label, which no checksum covers.
#[inline(always)]
pub fn flow_label(context: &TcContext, frame: &Frame, value: u32) -> Result<(), i64> {
    if !frame.v6 {
        return Ok(());
    }
    let at = frame.ip as usize;
    let word = u32::from_be(context.load::<u32>(at)?);
    context.store(at, &(word & !0xf_ffff | value & 0xf_ffff).to_be(), 0)
}

/// Writes the source port of a tunnel's outer UDP header.
#[inline(always)]
pub fn tunnel_port(context: &TcContext, frame: &Frame, value: u32) -> Result<(), i64> {
    let at = frame.transport as usize;
    if frame.protocol != UDP || frame.fragment {
        return Ok(());
    }
    // A header that is cut off is nobody's tunnel.
    let Ok([old, to, ..]) = context.load::<[u16; 4]>(at) else { return Ok(()) };
    if !TUNNELS.contains(&u16::from_be(to)) {
        return Ok(());
    }
    let new = (value as u16).to_be();
    // A checksum of zero means none (RFC 768) and stays so.
    let flags = u64::from(BPF_F_MARK_MANGLED_0) | 2;
    context.l4_csum_replace(at + 6, old.into(), new.into(), flags)?;
    context.store(at, &new, 0)
}
