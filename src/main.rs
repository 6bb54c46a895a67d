use std::process::ExitCode;

fn main() -> ExitCode {
    match addfg::cli::main() {
        Ok(code) => code,
        Err(error) => {
            if addfg::cli::is_closed_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            addfg::cli::say_error(&error);
            ExitCode::from(2)
        }
    }
}
