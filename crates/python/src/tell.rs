//! Asking a Python callback, from a long call, whether to go on.
//!
//! Left out: what the callback is told; each call has its own words.

use std::ops::ControlFlow;

use pyo3::prelude::*;

/// A callback that takes a text and answers whether to go on, and what it raised.
pub(crate) struct Tell {
    callback: Py<PyAny>,
    /// What the callback or a signal handler raised; it is the reason, whatever the call then says.
    pub(crate) raised: Option<PyErr>,
}

impl Tell {
    pub(crate) fn new(callback: Py<PyAny>) -> Self {
        Self { callback, raised: None }
    }

    /// Tells the callback; breaks when it says so or something was raised.
    pub(crate) fn ask(&mut self, text: PyResult<String>) -> ControlFlow<()> {
        let go_on = text.and_then(|text| {
            Python::attach(|py| {
                let said = self.callback.call1(py, (text,))?.extract::<bool>(py)?;
                py.check_signals()?;
                Ok(said)
            })
        });
        match go_on {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
