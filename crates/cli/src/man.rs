//! The manual page, from the command line that clap knows.

use clap::{Arg, Command};

/// The page in the language of `man`, with every command and its options.
pub fn page(command: &Command) -> String {
    let mut command = command.clone();
    command.build();
    let (name, version) = (command.get_name(), command.get_version().unwrap_or_default());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!(
        ".TH {} 1 \"\" \"{name} {version}\"\n\
         .SH NAME\n{name} \\- {}\n\
         .SH SYNOPSIS\n.B {name}\n[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]\n\
         .SH COMMANDS\n",
        name.to_uppercase(),
        escaped(&about)
    );
    // `help` repeats what stands here.
    for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
        let positionals: Vec<String> =
            one.get_positionals().map(|argument| format!(" \\fI{}\\fR", value_name(argument))).collect();
        page += &format!(".SS {}{}\n", one.get_name(), positionals.concat());
        page += &paragraph(&one.get_about().map(ToString::to_string).unwrap_or_default());
        page += &one.get_arguments().filter(|argument| argument.get_id() != "help").map(entry).collect::<String>();
        page += &literal(&one.get_after_help().map(ToString::to_string).unwrap_or_default());
    }
    page += ".SH OPTIONS\n";
    page += &command.get_arguments().map(entry).collect::<String>();
    page += ".SH CONVENTIONS\n";
    page + &literal(&command.get_after_help().map(ToString::to_string).unwrap_or_default())
}

fn value_name(argument: &Arg) -> String {
    let name = argument.get_value_names().and_then(|names| names.first());
    name.map_or_else(|| argument.get_id().to_string().to_uppercase(), ToString::to_string)
}

/// An argument with its explanation and its possible values.
fn entry(argument: &Arg) -> String {
    let value = || format!("\\fI{}\\fR", value_name(argument));
    let short = argument.get_short().map(|short| format!("\\fB\\-{short}\\fR, ")).unwrap_or_default();
    let head = match (argument.get_long(), argument.get_action().takes_values()) {
        (Some(long), true) => format!("\\fB\\-\\-{}\\fR {}", escaped(long), value()),
        (Some(long), false) => format!("{short}\\fB\\-\\-{}\\fR", escaped(long)),
        (None, _) => value(),
    };
    let mut text =
        format!(".TP\n{head}\n{}", paragraph(&argument.get_help().map(ToString::to_string).unwrap_or_default()));
    for possible in argument.get_possible_values().iter().filter(|_| argument.get_action().takes_values()) {
        let help = possible.get_help().map(|help| format!(": {help}")).unwrap_or_default();
        text += &format!(".br\n\\fB{}\\fR{}\n", escaped(possible.get_name()), escaped(&help));
    }
    text
}

fn paragraph(text: &str) -> String {
    text.lines().map(|line| escaped(line) + "\n").collect()
}

/// Text whose lines stay as they are.
fn literal(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(".PP\n.nf\n{}.fi\n", paragraph(text)) }
}

/// Text without commands and escapes: a line may not begin with a point or an apostrophe.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
