"""Experiments: factors × levels × repetitions on testbeds, cached and resumable."""

from airperf.experiment.campaign import Listener, Result, run_study
from airperf.experiment.file import load_experiment
from airperf.experiment.merge import merge_shards
from airperf.experiment.planning import Options, Plan, Shard, lacking_text, plan
from airperf.experiment.study import Study, load_study

__all__ = [
    "Listener",
    "Options",
    "Plan",
    "Result",
    "Shard",
    "Study",
    "lacking_text",
    "load_experiment",
    "load_study",
    "merge_shards",
    "plan",
    "run_study",
]
