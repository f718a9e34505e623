#!/bin/sh
# Puts the C library into a folder: `crates/c/install.sh BUILT PREFIX`. BUILT has libanabranch.a and libanabranch.so.
set -eu
here=$(dirname "$0")
built=$1
mkdir -p "$2"
prefix=$(cd "$2" && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)
install -D -m 644 "$here/include/anabranch.h" "$prefix/include/anabranch.h"
install -D -m 644 "$built/libanabranch.a" "$prefix/lib/libanabranch.a"
install -D -m 755 "$built/libanabranch.so" "$prefix/lib/libanabranch.so"
mkdir -p "$prefix/lib/pkgconfig"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/anabranch.pc.in" >"$prefix/lib/pkgconfig/anabranch.pc"
