//! What the compiler says of mistakes that newcomers make. The programs and the texts are in `tests/ui`; the texts name the fix where Rust
//! allows it. `TRYBUILD=overwrite cargo test --workspace --features wengert-mistakes/texts --test mistakes` rewrites them.
