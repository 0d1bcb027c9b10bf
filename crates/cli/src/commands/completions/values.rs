//! Values of options for the shells whose scripts clap writes without them, elvish and PowerShell;
//! and options behind arguments there.

use std::fmt::Write;

use clap::Command;
use clap_complete::Shell;

/// The script of a shell with the known values of the options of `program`, which was built.
pub(super) fn added(script: &str, shell: Shell, program: &Command) -> String {
    let mut known = Known { commands: Vec::new(), values: Vec::new() };
    let name = program.get_bin_name().unwrap_or_else(|| program.get_name());
    known.collect(name, program);
    match shell {
        Shell::Elvish => script.replacen(ELVISH, &known.elvish(name), 1),
        Shell::PowerShell => script.replacen(POWERSHELL, &(known.powershell(name) + POWERSHELL), 1),
        _ => script.to_owned(),
    }
}

/// The values that completions offer, by the path of a command: `linerate;test`.
struct Known {
    commands: Vec<String>,
    /// Values of each option, by the path of its command and its spelling: `linerate;test;--engine`.
    values: Vec<(String, Vec<String>)>,
}

impl Known {
    fn collect(&mut self, path: &str, command: &Command) {
        for arg in command.get_opts().filter(|arg| arg.get_action().takes_values()) {
            let values = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
            let values: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
            if values.is_empty() {
                continue;
            }
            let long = arg.get_long_and_visible_aliases().unwrap_or_default();
            let short = arg.get_short_and_visible_aliases().unwrap_or_default();
            let long = long.into_iter().map(|name| format!("{path};--{name}"));
            let all = long.chain(short.into_iter().map(|name| format!("{path};-{name}")));
            self.values.extend(all.map(|option| (option, values.clone())));
        }
        for sub in command.get_subcommands() {
            let path = format!("{path};{}", sub.get_name());
            self.collect(&path, sub);
            self.commands.push(path);
        }
    }

    fn elvish(&self, name: &str) -> String {
        let mut text = String::from("    var values = [\n");
        for (option, values) in &self.values {
            // A string takes everything.
            _ = writeln!(text, "        &'{option}'= [{}]", quoted(values, " "));
        }
        // Of an empty map the colon tells it from a list.
        let text = text.replacen("[\n", if self.values.is_empty() { "[&\n" } else { "[\n" }, 1);
        format!(
            "{text}    ]
    set command = '{name}'
    for word $words[1..-1] {{
        if (has-key $completions $command';'$word) {{
            set command = $command';'$word
        }}
    }}
    var option = $command';'$words[-2]
    if (has-key $values $option) {{
        all $values[$option]
    }} else {{
        $completions[$command]
    }}
"
        )
    }

    fn powershell(&self, name: &str) -> String {
        let commands = quoted(&self.commands, ", ");
        let mut text = format!(
            "    $before = @($commandElements | Where-Object {{ $_.Extent.EndOffset -lt $cursorPosition }} |
        ForEach-Object {{ $_.ToString() }})
    $command = '{name}'
    $commands = @({commands})
    foreach ($word in $before | Select-Object -Skip 1) {{
        if ($commands -ccontains \"$command;$word\") {{
            $command = \"$command;$word\"
        }}
    }}
    $values = @(switch -CaseSensitive (\"$command;$($before[-1])\") {{
"
        );
        for (option, values) in &self.values {
            _ = writeln!(text, "        '{option}' {{ {}; break }}", quoted(values, ", "));
        }
        text + "    })
    if ($values.Count -gt 0) {
        return $values.Where{ $_ -like \"$wordToComplete*\" } | ForEach-Object {
            [CompletionResult]::new($_, $_, [CompletionResultType]::ParameterValue, $_)
        }
    }

"
    }
}

/// Words in single quotes, in which both shells double a quote.
fn quoted(words: &[String], between: &str) -> String {
    let each: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', "''"))).collect();
    each.join(between)
}

/// Where clap's script of elvish hands out its candidates, and that of PowerShell chooses them.
const ELVISH: &str = "    $completions[$command]\n";
const POWERSHELL: &str = "    $completions = @(switch ($command) {\n";
