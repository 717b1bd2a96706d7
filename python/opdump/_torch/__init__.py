"""Records PyTorch. Modules of this package import torch; the package itself imports nothing."""
