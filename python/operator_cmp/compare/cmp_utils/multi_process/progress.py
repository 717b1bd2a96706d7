"""How much of a list of files is done."""

from __future__ import annotations

from cmp_utils import log


class Progress:
    def __init__(self, count: int = 1) -> None:
        self.count, self.done = max(int(count), 1), 0

    def update_progress(self, percent: int | None = None) -> None:
        """One more file, or `percent` of all."""
        self.done = self.done + 1 if percent is None else self.count * percent // 100
        log.print_info_log(f"{min(100, 100 * self.done // self.count)}% done")

    def is_done(self) -> bool:
        return self.done >= self.count
