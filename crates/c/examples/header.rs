//! Prints the C header: `cargo run -p anabranch-c --example header > crates/c/include/anabranch.h`.

use std::error::Error;
use std::io::stdout;
use std::path::Path;

/// The header, by cbindgen.
pub(crate) fn header() -> Result<cbindgen::Bindings, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut builder =
        cbindgen::Builder::new().with_config(cbindgen::Config::from_file(folder.join("cbindgen.toml"))?);
    for module in ["outcome", "group", "reader", "bounded", "draining", "slow_start", "snapshot", "network"] {
        builder = builder.with_src(folder.join("src").join(module).with_extension("rs"));
    }
    Ok(builder.generate()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    header()?.write(stdout().lock());
    Ok(())
}
