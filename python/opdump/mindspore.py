"""MindSpore's dump interface for PyTorch programs: a change of the import is enough.

Importing starts what MINDSPORE_DUMP_CONFIG asks for, as importing opdump does. See docs/mindspore.md.
"""

from opdump import set_dump

__all__ = ["set_dump"]
