//! Completions and the manual page.

use crate::command::{fails, succeeds};
use clap::{Command, CommandFactory};
use std::process::Command as Process;
use wengert_cli::arguments::Arguments;

/// The command line, with the commands and options that clap adds.
fn command_line() -> Command {
    let mut command = Arguments::command();
    command.build();
    command
}

/// The names and long options of all commands.
fn words(command: &Command) -> Vec<(String, Vec<String>)> {
    let long =
        |one: &Command| one.get_arguments().filter_map(|argument| argument.get_long().map(String::from)).collect();
    let one = |one: &Command| (one.get_name().to_string(), long(one));
    command.get_subcommands().map(one).chain([(String::new(), long(command))]).collect()
}

#[test]
fn scripts_and_the_manual_name_every_command_and_option() {
    let all = words(&command_line());
    assert!(all.len() > 9 && all.iter().map(|(_, options)| options.len()).sum::<usize>() > 30, "{all:?}");
    for (arguments, prefix) in [
        (&["completions", "bash"][..], "--"),
        (&["completions", "zsh"][..], "--"),
        (&["completions", "fish"][..], "-l "),
        (&["man"][..], "\\-\\-"),
    ] {
        let text = succeeds(arguments);
        for (command, options) in all.iter().filter(|(command, _)| command != "help") {
            assert!(text.contains(command), "{arguments:?}: {command} is not in\n{text}");
            // A page for people says once that --help is there.
            for option in options {
                assert!(
                    text.contains(&format!("{prefix}{option}")),
                    "{arguments:?}: {command} {option} is not in\n{text}"
                );
            }
        }
    }
    assert!(fails(&["completions", "tcsh"], 2).contains("bash"));
    assert!(fails(&["completions"], 2).contains("SHELL"));
}

/// What bash offers after these words, of which the last one is incomplete.
fn completed(script: &str, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let place = words.len() - 1;
    let program = format!(
        "{script}\nCOMP_WORDS=({}) COMP_CWORD={place}\n_wengert\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" ")
    );
    let folder = env!("CARGO_MANIFEST_DIR");
    let output =
        Process::new("bash").current_dir(folder).args(["--norc", "-c", &program]).output().expect("bash is there");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text").split_whitespace().map(String::from).collect()
}

#[test]
fn bash_completes_commands_options_words_and_files() {
    let script = succeeds(&["completions", "bash"]);
    let offered = |words: &[&str]| completed(&script, words);
    assert_eq!(offered(&["wengert", "gr"]), ["grad"]);
    assert_eq!(offered(&["wengert", "grad", "x", "--at", "x=1", "--hes"]), ["--hessian"]);
    assert_eq!(offered(&["wengert", "train", "m"]), ["mnist"]);
    assert_eq!(offered(&["wengert", "train", "mnist", "--res"]), ["--resume"]);
    assert_eq!(offered(&["wengert", "completions", ""]).iter().filter(|word| !word.starts_with('-')).count(), 3);
    assert_eq!(offered(&["wengert", "run", "Carg"]), ["Cargo.toml"]);
    assert_eq!(offered(&["wengert", "grad", "x", "--svg", "Carg"]), ["Cargo.toml"]);
    assert_eq!(offered(&["wengert", "help", "do"]), ["doctor"]);
    assert!(offered(&["wengert", "grad", "x", "--at", ""]).is_empty());
    for command in command_line().get_subcommands() {
        assert!(offered(&["wengert", ""]).contains(&command.get_name().to_string()));
    }
}

#[test]
fn the_manual_has_no_line_that_is_an_unknown_request() {
    let text = succeeds(&["man"]);
    let requests = [".TH ", ".SH ", ".SS ", ".TP", ".PP", ".br", ".nf", ".fi", ".B "];
    for line in text.lines().filter(|line| line.starts_with(['.', '\''])) {
        assert!(requests.iter().any(|request| line.starts_with(request)), "{line}");
    }
    for part in ["exit codes", "sum(i in 1..=3", "Shakespeare", "NO_COLOR"] {
        assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part} is not in\n{text}");
    }
}
