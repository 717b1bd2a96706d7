"""opdump records what every operator of a PyTorch program reads and writes.

With a configuration in the environment, importing is enough::

    MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json python3 -c "import opdump, train"

or name it in the program::

    import opdump
    opdump.start("data_dump.json")
    ...
    opdump.stop()

torch is not imported by this package; recording begins when the program imports it.
"""

from __future__ import annotations

from opdump import _on_import

__all__ = ["start", "stop", "step", "active", "current_step", "set_dump"]


def start(config: str, *, mode: str | None = None, strict: bool = False) -> None:
    """Starts recording as the configuration file `config` says (data_dump.json).

    `mode` is the machine the file was written for: "o0", "o2", "cpu" or "gpu"; None follows the file. `strict` refuses
    what the original system refuses. Raises ValueError with file, line and column if the configuration is wrong.
    """
    import torch  # noqa: F401  (recording hooks a complete torch)

    from opdump import _attach

    _attach.start(config, mode=mode, strict=strict)


def stop() -> bool:
    """Stops recording and waits until everything is on disk. False if something was lost (see opdump_status.json)."""
    attach = _on_import.attached()
    return attach.stop() if attach else True


def step() -> None:
    """Ends the current step. From the first call on, only this function counts steps."""
    attach = _on_import.attached()
    if attach:
        attach.hooks.step()


def active() -> bool:
    """Whether the current step is recorded."""
    attach = _on_import.attached()
    return bool(attach and attach.hooks.active())


def current_step() -> int:
    """The number of the current step, from 0."""
    attach = _on_import.attached()
    return attach.hooks.current_step() if attach else 0


def set_dump(target, enabled: bool = True) -> None:
    """Flags what a configuration with "dump_mode": 2 records: a torch.nn.Module with all modules below it, or the
    operator or scope of a name ("Default/conv1-Conv2d/convolution-op0"); gradients follow. False takes a part out again.

    Call it before the first step. Raises ValueError if `target` is neither, or `enabled` is not a bool.
    """
    import torch  # noqa: F401

    from opdump import _attach

    _attach.set_dump(target, enabled)


_on_import.start_with_torch()
