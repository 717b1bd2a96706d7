"""Runs a command and kills the first process that it starts, at once or when there is a file below a folder:
kill_worker.py [--when FOLDER] COMMAND..."""
import os
import pathlib
import signal
import subprocess
import sys
import time

command = sys.argv[1:]
folder = pathlib.Path(command[1]) if command[0] == "--when" else None
if folder:
    command = command[2:]
program = subprocess.Popen(command, close_fds=False)  # MPICH speaks to its starter through one
children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
while program.poll() is None:
    is_time = not folder or any(path.is_file() for path in folder.rglob("*"))
    for child in children.read_text().split() if is_time else []:
        if os.readlink(f"/proc/{child}/exe") == os.path.realpath(command[0]):
            os.kill(int(child), signal.SIGKILL)
            sys.exit(program.wait())
    time.sleep(0.001)
sys.exit(program.returncode)
