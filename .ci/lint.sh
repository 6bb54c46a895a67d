#!/bin/sh
# Formatting, clippy, documentation and the words of the pages: silent and 0 if all is well. `.ci/run` calls it where the
# toolchain is the one below; each release of clippy finds other things.
set -eu
cd "$(dirname "$0")/.."
cargo fmt --check
# `cargo fmt` does not see these.
cargo fmt --check --manifest-path fuzz/mutants/Cargo.toml
cargo fmt --check --manifest-path extension/Cargo.toml
rustfmt --check --edition 2024 benches/parse_only.rs
# A new dependency of addfg is one of the extension, which has a lock file of its own and is built with --locked.
for package in . extension; do
    cargo metadata --locked --format-version 1 --manifest-path "$package/Cargo.toml" >/dev/null
done
python3 .ci/words.py
# Clippy's defaults and what Cargo.toml, [lints], adds. Of rustdoc, links to private items are allowed: all rooms are private.
cargo clippy --release --quiet --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --release --quiet --no-deps
