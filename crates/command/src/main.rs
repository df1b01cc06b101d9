//! The `syncedmem` command.

fn main() -> std::process::ExitCode {
    syncedmem_command::run(&std::env::args_os().collect::<Vec<_>>())
}
