//! Generates the load of a plan read from standard input and prints the result: `generate [DIRECTORY] < plan.json`.

use std::ops::ControlFlow;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan: airperf_load::Plan = serde_json::from_reader(std::io::stdin())?;
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let result = airperf_load::run(&plan, directory.as_deref(), &mut |_| ControlFlow::Continue(()))?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
