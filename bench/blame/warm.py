#!/usr/bin/env python3
"""A Python that has loaded torch already: takes the place of `python3 SCRIPT ARGUMENTS...`, which would load it each time.

warm.py --serve    serves the socket of OPDUMP_WARM: runs each script in a child of this process, which has loaded torch
warm.py [-B] SCRIPT ARGUMENTS...    runs a script there, with the streams, environment and directory of this process
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def run(request: dict, streams: list[int]) -> int:
    """In the child."""
    import runpy
    import traceback

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.argv = request["arguments"]
    sys.path[0] = os.path.dirname(sys.argv[0])
    sys.path[1:1] = [place for place in os.environ.get("PYTHONPATH", "").split(":") if place]
    status = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def serve(address: str) -> None:
    import torch  # noqa: F401 - for the children; nothing is computed here, so that no thread exists

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    while True:
        connection = listener.accept()[0]
        if os.fork() > 0:
            connection.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        text, streams = socket.recv_fds(connection, 1 << 20, 3)[:2]
        while not text.endswith(b"\n"):
            text += connection.recv(1 << 20)
        status = run(json.loads(text), streams)
        connection.sendall(bytes([status & 255]))
        os._exit(status)


def main() -> None:
    address = os.environ["OPDUMP_WARM"]
    if sys.argv[1:] == ["--serve"]:
        serve(address)
    arguments = [a for i, a in enumerate(sys.argv[1:]) if i > 0 or a != "-B"]
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    request = {"arguments": arguments, "environment": dict(os.environ), "directory": os.getcwd()}
    text = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(connection, [text], [0, 1, 2])
    connection.sendall(text[sent:])
    answer = connection.recv(1)
    os._exit(answer[0] if answer else 1)


main()
