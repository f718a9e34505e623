//! The header is what cbindgen makes of the functions.

#[path = "../../examples/header.rs"]
#[allow(dead_code)] // `main` is called where it is a program.
mod written;

#[test]
fn the_header_is_that_of_the_functions() {
    let mut made = Vec::new();
    written::header().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    assert_eq!(made, include_str!("../../include/anabranch.h"), "the header is stale: make reference");
    // No function is left out: each has its line in the header.
    for name in include_str!("../../src/lib.rs").split(|c: char| c != '_' && !c.is_ascii_lowercase()) {
        if name.starts_with("anabranch_") && !name.starts_with("anabranch_split") {
            assert!(made.contains(&format!("{name}(")), "{name}");
        }
    }
}
