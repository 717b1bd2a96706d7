"""The program that `opdump blame` starts, by the path of its folder: `python3 opdump/_replay COUNT`. The folder has one package
and no other module, which would hide one of that Python."""

import os

from opdump_replay import worker


def main() -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # several of these run at once
    worker.import_torch()
    from opdump_replay import server  # not before: it imports torch, too

    server.serve()
    os._exit(0)  # torch takes half a second to end


if __name__ == "__main__":
    main()
