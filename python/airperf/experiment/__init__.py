"""Experiments: factors × levels × repetitions on testbeds, cached and resumable."""

from airperf.experiment.campaign import Listener, Result, run_study
from airperf.experiment.planning import Options, Plan, lacking_text, plan
from airperf.experiment.study import Study, load_study

__all__ = [
    "Listener",
    "Options",
    "Plan",
    "Result",
    "Study",
    "lacking_text",
    "load_study",
    "plan",
    "run_study",
]
