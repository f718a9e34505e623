//! Picks on a processor without an operating system: no standard library, no allocator, and no panic that is left.
//!
//! Linked for a Cortex-M4 by `tests/project/test_bare_target.py`, which runs it where an emulator is installed. There it
//! prints a line for each pick: its name, and FNV-1a of 64 bits over the members of 20,000 keys.

#![no_std]
#![no_main]

use anabranch_split::picks::cumulative::Bounds;
use anabranch_split::picks::modulo::ModuloTable;
use anabranch_split::picks::rendezvous::Entry;
use anabranch_split::picks::{Cumulative, Modulo, Rendezvous, Slots, mix};
use anabranch_split::{Packet, Pick, Still, pick};
use core::arch::asm;
use core::panic::PanicInfo;

// `SLOTS`, a min-move table of 4096 slots, and `ENTRIES`, one of Maglev of 251 entries.
include!(env!("TABLES"));

const KEYS: u64 = 20_000;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn a_pick_has_a_panic_that_is_left() -> !;
    }
    // SAFETY: nobody defines it, so a program that may come here does not link.
    unsafe { a_pick_has_a_panic_that_is_left() }
}

/// Key of a number, by SplitMix64 (Steele, Lea and Flood 2014).
fn key(number: u64) -> u64 {
    let x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// FNV-1a over the members of all keys, the low byte of each first.
#[inline(never)]
fn digest<S: Pick<State = ()>>(plan: &S::Plan) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    for number in 1..=KEYS {
        let mut packet = Packet { flow: key(number), bytes: 1, ..Packet::default() };
        let member = pick::<S, _>(plan, &mut (), &mut packet, &mut Still);
        for byte in member.to_le_bytes() {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    digest
}

/// System call of the emulator, as Linux has it on ARM.
fn call(number: u32, first: u32, second: u32, third: u32) {
    // SAFETY: `write` reads a text of this program, and `exit` does not return; r7, the frame pointer, is restored.
    unsafe {
        asm!(
            "push {{r7}}",
            "mov r7, {number}",
            "svc 0",
            "pop {{r7}}",
            number = in(reg) number,
            inout("r0") first => _,
            in("r1") second,
            in("r2") third,
        );
    }
}

fn write(text: &[u8]) {
    call(4, 1, text.as_ptr() as u32, text.len() as u32);
}

fn report(name: &str, digest: u64) {
    write(name.as_bytes());
    let mut line = [b'\n'; 17];
    for (at, digit) in line.iter_mut().take(16).enumerate() {
        let value = (digest >> (60 - 4 * at)) as u8 & 15;
        *digit = if value < 10 { b'0' + value } else { b'a' - 10 + value };
    }
    write(&line);
}

/// Living member of a weight of `2^order` beside others whose least is one.
fn entry(member: u16, order: u32) -> Entry {
    Entry { salt: mix::salt(member), reciprocal: 1 << 26, shift: order, approximate: 1.0, member }
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    report("min-move ", digest::<Slots<u8, 4096>>(&SLOTS));
    if let Some(table) = ModuloTable::new(ENTRIES) {
        report("maglev ", digest::<Modulo<[u16; 251]>>(&table));
    }
    // Weights 4, 2 and 1.
    report("log-rendezvous ", digest::<Rendezvous>(&[entry(0, 2), entry(1, 1), entry(2, 0)]));
    // Weights 2, 1 and 1: ends of the intervals of hashes.
    let bounds = Bounds { first: 0, last: [0x7fff_ffff, 0xbfff_ffff, u32::MAX, u32::MAX] };
    report("cdf ", digest::<Cumulative<4>>(&bounds));
    call(1, 0, 0, 0);
    loop {}
}
