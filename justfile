# The chores, for those who have `just`. Each is a plain command.

# Everything that must hold
check:
    .ci/run

# Format, lint, test
quick:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    cargo test --workspace

# Write the generated schema
schema:
    cargo run --quiet -- schema > docs/schema/event.json

# The benchmarks
bench:
    cargo bench --workspace
    scripts/bench
