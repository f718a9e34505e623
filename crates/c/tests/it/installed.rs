//! The library in a folder, and programs in C that are compiled against it.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Folder of the crate.
pub(crate) const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// How a program has the library.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Linked {
    Statically,
    Shared,
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Folder with header, libraries and `anabranch.pc`, as `make c` leaves it.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c");
        let built = env::current_exe().unwrap();
        // The libraries that this program was built with stand beside it.
        output(Command::new(Path::new(CRATE).join("install.sh")).arg(built.parent().unwrap()).arg(&prefix));
        prefix
    })
}

/// Words that pkg-config prints; nothing where there is no pkg-config.
pub(crate) fn pkg_config(arguments: &[&str]) -> Option<Vec<String>> {
    let folder = prefix().join("lib/pkgconfig");
    let mut command = Command::new("pkg-config");
    command.args(arguments).arg("anabranch").env("PKG_CONFIG_PATH", folder);
    if matches!(command.output(), Err(error) if error.kind() == std::io::ErrorKind::NotFound) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no pkg-config");
        return None;
    }
    let text = String::from_utf8(output(&mut command).stdout).unwrap();
    Some(text.split_whitespace().map(str::to_owned).collect())
}

/// Compiles an example as its head says; nothing where there is no pkg-config.
pub(crate) fn compiled(example: &str, linked: Linked) -> Option<PathBuf> {
    compiled_file(&Path::new(CRATE).join("examples").join(example).with_extension("c"), linked)
}

/// Compiles a program of one file; nothing where there is no pkg-config. Statically, the archive stands in place of the
/// library's name.
pub(crate) fn compiled_file(source: &Path, linked: Linked) -> Option<PathBuf> {
    let static_flag: &[&str] = if matches!(linked, Linked::Statically) { &["--static"] } else { &[] };
    let flags = pkg_config(&[static_flag, &["--cflags", "--libs"]].concat())?;
    let archive = prefix().join("lib/libanabranch.a").into_os_string().into_string().unwrap();
    let name = source.file_stem().unwrap().display();
    let program = prefix().join(format!("{name}-{linked:?}"));
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]);
    command.arg(source).arg("-o").arg(&program);
    command.args(flags.into_iter().map(|flag| match linked {
        Linked::Statically if flag == "-lanabranch" => archive.clone(),
        _ => flag,
    }));
    output(&mut command);
    Some(program)
}

/// Runs a program, with the shared library where it looks for it.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_LIBRARY_PATH", prefix().join("lib"));
    command.output().unwrap()
}

/// Lines that a program prints; it must end with status 0.
pub(crate) fn lines(program: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(program, arguments);
    assert!(output.status.success(), "{program:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
