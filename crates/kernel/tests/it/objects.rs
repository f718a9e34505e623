//! The committed programs are what their source compiles to.

use anabranch_kernel::Object;
use object::{Object as _, ObjectSection, SectionKind};
use std::path::Path;
use std::process::Command;

/// Instructions, maps and constants. Names are left out: those of other crates depend on the folder of the build.
fn content(object: &[u8]) -> Vec<(SectionKind, Vec<u8>, usize)> {
    let file = object::File::parse(object).unwrap();
    let wanted = |kind| !matches!(kind, SectionKind::Metadata | SectionKind::Other);
    let sections = file.sections().filter(|section| wanted(section.kind()));
    sections
        .map(|section| (section.kind(), section.data().unwrap().to_vec(), section.relocations().count()))
        .collect()
}

#[test]
#[ignore = "builds the programs: a minute, bpf-linker and rust-src; make test-slow runs it"]
fn objects_match_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::temp_dir().join(format!("anabranch-objects-{}", std::process::id()));
    let built = Command::new(root.join("ebpf/build")).arg(&folder).status().unwrap();
    assert!(built.success(), "ebpf/build failed");
    let forwarder: &[u8] = include_bytes!("../../objects/forward");
    let schemes = Object::ALL.map(|object| (object.name(), object.bytes()));
    for (name, held) in schemes.into_iter().chain([("forward", forwarder)]) {
        let fresh = std::fs::read(folder.join(name)).unwrap();
        assert!(content(&fresh) == content(held), "{name}: run ebpf/build and commit");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
