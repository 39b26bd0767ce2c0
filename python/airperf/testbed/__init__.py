"""Making a scenario happen: in virtual time (``sim``) or with real programs in real time (``emu``).

Every run happens in a worker process, which can be interrupted, limited in time and killed without harm to
the rest.
"""

from airperf.testbed.browse import Browsed, Over, Told, browse, browser_taking_part, browser_version
from airperf.testbed.browser import Wanted
from airperf.testbed.engine import TESTBEDS, Need, clean, engine_id, lacking, probe, replay, substituted
from airperf.testbed.host import Hosting, host_for, host_need, host_on_loopback, lacks_namespaces
from airperf.testbed.interrupt import Interrupts
from airperf.testbed.jobs import Done, Failed, Job, Outcome
from airperf.testbed.optimise import Optimiser, run_optimiser
from airperf.testbed.pool import Pool
from airperf.testbed.proxy import Admission, run_proxy
from airperf.testbed.record import record_command, record_page
from airperf.testbed.redirect import in_own_namespace
from airperf.testbed.shell import complaints, run_shell
from airperf.testbed.trusting import spki

__all__ = [
    "TESTBEDS",
    "Admission",
    "Browsed",
    "Done",
    "Failed",
    "Hosting",
    "Interrupts",
    "Job",
    "Need",
    "Optimiser",
    "Outcome",
    "Over",
    "Pool",
    "Told",
    "Wanted",
    "browse",
    "browser_taking_part",
    "browser_version",
    "clean",
    "complaints",
    "engine_id",
    "host_for",
    "host_need",
    "host_on_loopback",
    "in_own_namespace",
    "lacking",
    "lacks_namespaces",
    "probe",
    "record_command",
    "record_page",
    "replay",
    "run_optimiser",
    "run_proxy",
    "run_shell",
    "spki",
    "substituted",
]
