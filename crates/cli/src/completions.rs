//! Scripts that complete the command line in a shell, from the command line that clap knows.

use clap::{Arg, Command, ValueEnum, ValueHint};

/// A shell with completion.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    /// The Bourne-again shell
    Bash,
    /// The Z shell
    Zsh,
    /// The friendly interactive shell
    Fish,
}

/// Where scripts belong, for `--help`.
pub const INSTALLED: &str = "\
Where the script belongs:
  bash  wengert completions bash > ~/.local/share/bash-completion/completions/wengert
  zsh   wengert completions zsh > FOLDER/_wengert, for a FOLDER of $fpath
  fish  wengert completions fish > ~/.config/fish/completions/wengert.fish";

/// The script of a shell.
pub fn script(shell: Shell, command: &Command) -> String {
    let mut command = command.clone();
    command.build();
    match shell {
        Shell::Bash => bash(&command),
        Shell::Zsh => zsh(&command),
        Shell::Fish => fish(&command),
    }
}

/// What can follow an option or stand in its place.
enum Value {
    /// It is a flag.
    Absent,
    /// One of these words.
    OneOf(Vec<String>),
    File,
    Folder,
    /// Something that only the user knows.
    Free,
}

fn value_of(argument: &Arg) -> Value {
    let words: Vec<String> = argument.get_possible_values().iter().map(|value| value.get_name().to_string()).collect();
    match argument.get_value_hint() {
        _ if !argument.get_action().takes_values() => Value::Absent,
        _ if !words.is_empty() => Value::OneOf(words),
        ValueHint::AnyPath | ValueHint::FilePath => Value::File,
        ValueHint::DirPath => Value::Folder,
        _ => Value::Free,
    }
}

/// The options of a command, `--long`, with their arguments.
fn options(command: &Command) -> impl Iterator<Item = (String, &Arg)> {
    command.get_arguments().filter_map(|argument| Some((format!("--{}", argument.get_long()?), argument)))
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn help(argument: &Arg) -> String {
    argument.get_help().map(ToString::to_string).unwrap_or_default()
}

fn names(command: &Command) -> Vec<&str> {
    command.get_subcommands().map(Command::get_name).collect()
}

fn bash(command: &Command) -> String {
    let mut cases = String::new();
    for one in std::iter::once(command).chain(command.get_subcommands()) {
        let is_first = one.get_name() == command.get_name();
        let name = if is_first { "" } else { one.get_name() };
        let mut words: Vec<String> = options(one).map(|(option, _)| option).collect();
        let mut rest = String::new();
        if is_first || name == "help" {
            words.extend(names(command).iter().map(ToString::to_string));
        }
        for positional in one.get_positionals() {
            match value_of(positional) {
                Value::OneOf(more) => words.extend(more),
                Value::File | Value::Folder => rest = "; files=1".into(),
                Value::Absent | Value::Free => {}
            }
        }
        cases += &format!("        '{name}:'*) words='{}'{rest} ;;\n", words.join(" "));
    }
    let mut values = String::new();
    for one in command.get_subcommands() {
        for (option, argument) in options(one) {
            let action = match value_of(argument) {
                Value::Absent => continue,
                Value::OneOf(words) => format!("words='{}' files=", words.join(" ")),
                Value::File | Value::Folder => "words= files=1".into(),
                Value::Free => "return".into(),
            };
            values += &format!("        '{}:{option}') {action} ;;\n", one.get_name());
        }
    }
    format!(
        "_wengert() {{\n    \
             local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= words= files= place\n    \
             COMPREPLY=()\n    \
             for ((place = 1; place < COMP_CWORD; place++)); do\n        \
                 case ${{COMP_WORDS[place]}} in {}) command=${{COMP_WORDS[place]}}; break ;; esac\n    \
             done\n    \
             case \"$command:$before\" in\n{cases}    \
             esac\n    \
             case \"$command:$before\" in\n{values}        *) ;;\n    \
             esac\n    \
             if [[ -n $files && $word != -* ]]; then\n        \
                 compopt -o filenames 2>/dev/null\n        \
                 mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    \
             fi\n    \
             mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n\
         }}\n\
         complete -F _wengert wengert\n",
        names(command).join("|"),
    )
}

/// Text inside of single quotes.
fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// Text inside of single quotes, in a description of zsh, where brackets and colons have a meaning.
fn described(text: &str) -> String {
    quoted(&text.replace('\\', r"\\").replace('[', r"\[").replace(']', r"\]").replace(':', r"\:"))
}

fn zsh(command: &Command) -> String {
    let entry = |one: &Command| format!("        '{}:{}'\n", one.get_name(), described(&about(one)));
    let commands: String = command.get_subcommands().map(entry).collect();
    let own: String = specifications(command);
    let mut cases = String::new();
    for one in command.get_subcommands() {
        let specifications = match one.get_name() {
            "help" => format!(" \\\n                '1:command:({})'", names(command).join(" ")),
            _ => specifications(one),
        };
        cases += &format!("        {})\n            _arguments{specifications} ;;\n", one.get_name());
    }
    format!(
        "#compdef wengert\n\
         _wengert() {{\n    \
             local -a commands\n    \
             commands=(\n{commands}    )\n    \
             if (( CURRENT == 2 )); then\n        \
                 _describe command commands\n        \
                 _arguments{own}\n        \
                 return\n    \
             fi\n    \
             shift words\n    \
             (( CURRENT-- ))\n    \
             case $words[1] in\n{cases}    \
             esac\n\
         }}\n\
         if [ \"$funcstack[1]\" = _wengert ]; then _wengert \"$@\"; else compdef _wengert wengert; fi\n",
    )
}

/// The arguments of a command as `_arguments` of zsh takes them.
fn specifications(command: &Command) -> String {
    let mut all = Vec::new();
    for argument in command.get_arguments() {
        let action = match value_of(argument) {
            Value::Absent => None,
            Value::OneOf(words) => Some(format!("({})", words.join(" "))),
            Value::File => Some("_files".to_string()),
            Value::Folder => Some("_files -/".to_string()),
            Value::Free => Some(" ".to_string()),
        };
        let name = argument.get_value_names().and_then(|names| names.first()).map_or("value", |name| name.as_str());
        let value = action.map(|action| format!(":{}:{action}", described(name))).unwrap_or_default();
        let repeated = if matches!(argument.get_action(), clap::ArgAction::Append) { "*" } else { "" };
        all.push(match argument.get_long() {
            Some(long) => format!("'{repeated}--{long}[{}]{value}'", described(&help(argument))),
            None => format!("'{repeated}{value}'"),
        });
    }
    all.iter().map(|one| format!(" \\\n                {one}")).collect()
}

fn fish(command: &Command) -> String {
    let mut text = String::from("complete -c wengert -f\n");
    for one in command.get_subcommands() {
        let (name, about) = (one.get_name(), quoted(&about(one)));
        text += &format!("complete -c wengert -n __fish_use_subcommand -a {name} -d '{about}'\n");
    }
    for one in std::iter::once(command).chain(command.get_subcommands()) {
        let condition = match one.get_name() == command.get_name() {
            true => "__fish_use_subcommand".to_string(),
            false => format!("'__fish_seen_subcommand_from {}'", one.get_name()),
        };
        if one.get_name() == "help" {
            text += &format!("complete -c wengert -n {condition} -a '{}'\n", names(command).join(" "));
            continue;
        }
        for argument in one.get_arguments() {
            let value = match value_of(argument) {
                Value::Absent => String::new(),
                Value::OneOf(words) => format!(" -x -a '{}'", words.join(" ")),
                Value::File | Value::Folder => " -r -F".into(),
                Value::Free => " -x".into(),
            };
            let about = quoted(&help(argument));
            text += &match (argument.get_long(), value_of(argument)) {
                (Some(long), _) => format!("complete -c wengert -n {condition} -l {long}{value} -d '{about}'\n"),
                (None, Value::OneOf(words)) => {
                    format!("complete -c wengert -n {condition} -a '{}' -d '{about}'\n", words.join(" "))
                }
                (None, Value::File | Value::Folder) => format!("complete -c wengert -n {condition} -F\n"),
                (None, _) => String::new(),
            };
        }
    }
    text
}
