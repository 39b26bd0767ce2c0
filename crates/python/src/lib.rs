//! `airperf._core`: the crates as one Python module.
//!
//! Texts in, JSON texts out, and a few exceptions; Python's own layers give them types. Long calls
//! release the interpreter lock; those in real time look for Ctrl-C. The stub `_core.pyi` must match what is here.
//!
//! Left out: everything with an opinion. This crate converts and calls.

mod capture;
mod error;
mod host;
mod lab;
mod load;
mod optimise;
mod proxy;
mod record;
mod run;
mod scenario;
mod shell;
mod tell;
mod visits;

use pyo3::prelude::*;

/// What airperf computes in Rust: scenarios, the simulated and the emulated testbed, live loads, captures, a proxy, sites.
#[pymodule(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add(py, module)?;
    scenario::add(module)?;
    run::add(module)?;
    lab::add(module)?;
    load::add(module)?;
    optimise::add(module)?;
    proxy::add(module)?;
    host::add(module)?;
    shell::add(module)?;
    visits::add(module)?;
    record::add(module)?;
    capture::add(module)
}
