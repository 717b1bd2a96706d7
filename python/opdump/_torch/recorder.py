"""The recorder for the torch of this process: the extension module that opdump._torch.adapter finds or builds takes this one's
name."""

import sys

from opdump._torch import adapter

sys.modules[__name__] = adapter.load()
