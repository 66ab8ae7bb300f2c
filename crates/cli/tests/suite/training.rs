//! The networks that the command trains.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
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

/// Starts `wengert train digits` and waits for its first checkpoint.
fn started(folder: &Path, save: &Path) -> Child {
    let _ = std::fs::remove_file(save);
    let mut run = Command::new(env!("CARGO_BIN_EXE_wengert"));
    let run = run.current_dir(folder).args(["train", "digits", "--epochs", "40", "--seed", "3", "--save"]).arg(save);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
    while !save.exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended without a checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn a_run_that_is_killed_or_interrupted_goes_on_to_the_same_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resume");
    std::fs::create_dir_all(&folder).expect("a folder");
    let [whole, killed, interrupted] =
        ["whole", "killed", "interrupted"].map(|name| folder.join(name).with_extension("safetensors"));
    let finish = |save: &Path, resume: Option<&Path>| {
        let (save, resume) = (Some(save.to_path_buf()), resume.map(Path::to_path_buf));
        let options = Options { epochs: Some(40), seed: 3, save, resume, quiet: true, ..Options::default() };
        digits::fit(&options, &mut std::io::sink()).expect("it trains");
    };
    finish(&whole, None);
    let whole = std::fs::read(&whole).expect("a file");

    let mut child = started(&folder, &killed);
    child.kill().expect("it is killed");
    assert_eq!(child.wait().expect("it ends").code(), None, "it was still running");
    assert!(std::fs::read(&killed).expect("a file") != whole, "it was not complete");
    finish(&killed, Some(&killed));
    assert!(std::fs::read(&killed).expect("a file") == whole);

    let child = started(&folder, &interrupted);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    let output = child.wait_with_output().expect("it ends");
    assert!(sent.success() && output.status.code() == Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).expect("text");
    let hint = format!("go on with --resume {} --epochs 40 --seed 3", interrupted.display());
    assert!(message.contains("stopped after step") && message.contains(&hint), "{message}");
    finish(&interrupted, Some(&interrupted));
    assert!(std::fs::read(&interrupted).expect("a file") == whole);
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn a_run_that_is_already_complete_says_so() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("complete");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("run.safetensors");
    let run = |options: Options| {
        let mut text = Vec::new();
        digits::run(&options, &mut text).expect("it trains");
        String::from_utf8(text).expect("text")
    };
    let first = Options { epochs: Some(2), save: Some(path.clone()), ..Options::default() };
    assert!(!run(first).contains("nothing was trained"));
    for (epochs, quiet) in [(1, false), (2, false), (2, true), (3, false)] {
        let text = run(Options { epochs: Some(epochs), resume: Some(path.clone()), quiet, ..Options::default() });
        let told =
            format!("nothing was trained: the checkpoint has 2 epochs already, and this run ends after {epochs}");
        assert_eq!(text.contains(&told), epochs < 3 && !quiet, "{text}");
    }
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

/// One step of the transformer takes long without optimisation, so this one only checks that the parts fit.
#[test]
fn the_sonnets_can_be_read_and_written() {
    let (text, nats) = sonnets::sample(3, 140);
    assert!(text.chars().filter(|c| *c != ' ').count() > 10, "{text}");
    assert!(nats > 2.0 && nats < 6.0, "{nats}");
}
