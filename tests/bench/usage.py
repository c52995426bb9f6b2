"""Prints seconds, processor seconds and peak megabytes of a command as JSON: python -m tests.bench.usage COMMAND"""

import json
import os
import subprocess
import sys
from time import perf_counter

start = perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, used = os.wait4(process.pid, 0)
wall = perf_counter() - start
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
sys.exit(process.returncode != 0)
