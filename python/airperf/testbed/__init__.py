"""Making a scenario happen: in virtual time (``sim``) or with real programs in real time (``emu``).

Every run happens in a worker process, which can be interrupted, limited in time and killed without harm to
the rest.
"""

from airperf.testbed.engine import TESTBEDS, Need, clean, engine_id, lacking, probe, replay, substituted
from airperf.testbed.interrupt import Interrupts
from airperf.testbed.jobs import Done, Failed, Job, Outcome
from airperf.testbed.pool import Pool
from airperf.testbed.proxy import Admission, run_proxy

__all__ = [
    "TESTBEDS",
    "Admission",
    "Done",
    "Failed",
    "Interrupts",
    "Job",
    "Need",
    "Outcome",
    "Pool",
    "clean",
    "engine_id",
    "lacking",
    "probe",
    "replay",
    "run_proxy",
    "substituted",
]
