"""The recorder for the torch of this process: the extension module that _adapter finds or builds takes this one's name."""

import sys

from opdump import _adapter

sys.modules[__name__] = _adapter.load()
