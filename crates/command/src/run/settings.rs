//! The settings of the libraries as options of `syncedmem run`.

use std::env::var_os;
use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use syncedmem_core::settings::{HOST_BLOCKS, RunOption, SHARE, Setting, Values, all};

/// The settings that options have given, with their values.
#[derive(Debug, Default)]
pub struct Settings(Vec<(&'static str, OsString)>);

impl Settings {
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        self.0.clone()
    }

    /// The value that the program gets, from an option or the environment.
    fn value(&self, setting: &Setting) -> Option<OsString> {
        let given = self.0.iter().find(|(name, _)| *name == setting.name()).map(|(_, value)| value.clone());
        given.or_else(|| var_os(setting.name()))
    }

    /// An error: two settings, from options or the environment, exclude each other.
    pub fn check(&self) -> Result<(), String> {
        let shares = self.value(&SHARE).is_some_and(|what| what != "off");
        if shares && self.value(&HOST_BLOCKS).is_some_and(|how| how == "malloc") {
            return Err("--share and --host-blocks malloc exclude each other (also as SYNCEDMEM_SHARE and SYNCEDMEM_HOST_BLOCKS): \
                        free() cannot free memory that is shared; leave out one of them"
                .to_owned());
        }
        Ok(())
    }
}

fn help(setting: &Setting) -> String {
    let does = setting.does.replace('`', "");
    match setting.values {
        Values::Bytes(default) => format!("{does} [default: {default}]"),
        Values::Seconds(default) => format!("{does} [default: {default}]"),
        Values::OneOf(_) | Values::Text(_) => match setting.option {
            RunOption::ValueOr(_, default) => format!("{does} [default without a value: {default}]"),
            _ => does,
        },
    }
}

fn parser(setting: &'static Setting) -> ValueParser {
    let number = |example: &'static str| {
        let parse = move |text: &str| {
            let is_valid = setting.parse(text.as_bytes()).is_some();
            if is_valid { Ok(OsString::from(text)) } else { Err(format!("give {example}")) }
        };
        ValueParser::new(parse)
    };
    match setting.values {
        Values::OneOf(names) => PossibleValuesParser::new(names).map(OsString::from).into(),
        Values::Bytes(_) => number("digits, and K, M, G or T if you like: 1500M"),
        Values::Seconds(_) => number("a number of seconds: 2.5"),
        Values::Text(_) => OsStringValueParser::new().into(),
    }
}

fn option(setting: &'static Setting) -> Option<Arg> {
    let option = Arg::new(setting.name()).long(setting.option_name()).help(help(setting));
    let option = match setting.option {
        RunOption::None => return None,
        RunOption::Flag => option.action(ArgAction::SetTrue),
        RunOption::Value(value) => option.value_name(value).value_parser(parser(setting)),
        RunOption::ValueOr(value, default) => {
            let option = option.value_name(value).value_parser(parser(setting));
            option.num_args(0..=1).require_equals(true).default_missing_value(default)
        }
    };
    Some(option.help_heading("Settings of the library (docs/settings.md); BYTES are digits, and K, M, G or T"))
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(all().filter_map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Settings::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, Error> {
        let given = |setting: &'static Setting| {
            let value = match (setting.option, setting.values) {
                (RunOption::None, _) => None,
                (RunOption::Flag, Values::OneOf(names)) if matches.get_flag(setting.name()) => {
                    names.last().map(OsString::from)
                }
                (RunOption::Flag, _) => None,
                _ => matches.get_one::<OsString>(setting.name()).cloned(),
            };
            Some((setting.name(), value?))
        };
        Ok(Settings(all().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Settings::from_arg_matches(matches)?;
        Ok(())
    }
}
