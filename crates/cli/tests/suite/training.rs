//! The networks that the command trains.

use std::path::Path;
use wengert_cli::train::{Options, digits, mnist, sonnets};

#[test]
fn full_training_recognises_95_of_100_digits_it_never_saw() {
    let outcome = digits::fit(&Options { quiet: true, ..Options::default() }, &mut std::io::sink());
    let reached = outcome.expect("it trains").accuracy;
    assert!(reached >= 0.95, "{reached}");
}

#[test]
fn a_short_run_on_images_of_28_pixels_learns() {
    let options = Options { epochs: Some(1), quiet: true, ..Options::default() };
    let reached = mnist::run(&options, &mut std::io::sink()).expect("it trains");
    assert!(reached >= 0.9, "{reached}");
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_ends_with_the_same_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resume");
    std::fs::create_dir_all(&folder).expect("a folder");
    let (whole, part) = (folder.join("whole.safetensors"), folder.join("part.safetensors"));
    let run = |epochs: u64, save: &Path, resume: Option<&Path>| {
        let (save, resume) = (Some(save.to_path_buf()), resume.map(Path::to_path_buf));
        // The schedule depends on the number of epochs, so a run is stopped by its seed's data instead: see the suite of the library.
        let options = Options { epochs: Some(epochs), save, resume, quiet: true, ..Options::default() };
        digits::fit(&options, &mut std::io::sink()).expect("it trains");
    };
    run(3, &whole, None);
    // A complete run that is resumed has nothing left to do, and writes the same file again.
    run(3, &part, Some(&whole));
    assert!(std::fs::read(&whole).expect("a file") == std::fs::read(&part).expect("a file"));
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

/// One step of the transformer takes long without optimisation, so this one only checks that the parts fit.
#[test]
fn the_sonnets_can_be_read_and_written() {
    let (text, nats) = sonnets::sample(3, 40);
    assert!(text.chars().filter(|c| *c != ' ').count() > 10, "{text}");
    assert!(nats > 2.0 && nats < 6.0, "{nats}");
}
