//! Programs of the kernel's datapath, for tc: parser, the picks of `crates/split`, way out. One program per scheme in
//! `bin/`; plans come through maps in the layout of `crates/kernel`.

#![no_std]

pub mod flow_map;
pub mod frame;
pub mod hook;
pub mod kernel;
pub mod mark;
pub mod route;
pub mod split;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
