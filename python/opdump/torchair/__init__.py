"""TorchAir's interface of dumps for PyTorch programs, without an NPU: a change of the import is enough.

    from opdump import torchair

    config = torchair.CompilerConfig()
    config.dump_config.enable_dump = True
    config.dump_config.dump_path = "dump"
    model = torchair.compile(model, config)

or, as with the original, torch.compile(model, backend=torchair.get_npu_backend(compiler_config=config)). Options, checks
and results are those of the original; see docs/torchair.md.
"""

from opdump.torchair import scope
from opdump.torchair._config import CompilerConfig
from opdump.torchair._run import compile, get_npu_backend

__all__ = ["CompilerConfig", "compile", "get_npu_backend", "scope"]
