use std::process::ExitCode;

fn main() -> ExitCode {
    match addfg::internals::cli::main() {
        Ok(code) => code,
        Err(error) => {
            if addfg::internals::cli::is_closed_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            addfg::internals::cli::say_error(&error);
            ExitCode::from(2)
        }
    }
}
