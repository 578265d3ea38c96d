//! The example in `examples/embed.rs` does what it says.

#[path = "../examples/embed.rs"]
mod embed;

#[test]
fn the_example_runs_to_a_clean_end() {
    embed::main();
}
