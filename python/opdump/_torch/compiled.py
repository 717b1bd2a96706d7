"""torch.compile, and what else traces operators without running them.

What a compiler does is no part of the program: nothing of it is recorded. What it compiles is, in one of two ways, which
OPDUMP_COMPILED names:

aten    The region runs operator by operator, as the graph that autograd was traced to, in place of generated kernels. Each
        operator has the module and the line that it comes from. An operator without data marks where the region begins.
checked The same, and the results of the code that inductor generates are compared with those of the operators. This is the
        default.
opaque  The generated kernels run. The region is one operator, with its inputs and outputs.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import torch

from opdump._frames import leave_no_frame
from opdump._imports import call_after
from opdump._stderr import print_line
from opdump._torch import recorder as hooks
from opdump._torch.generated import GeneratedCode, is_exact, report_difference
from opdump._torch.optimizers import LIBRARIES, files_of_steps, optimizer_of
from opdump._torch.unrecorded import leave_to_python, uncompiled, unrecorded

_REPLACED = ("inductor", "aot_eager", "aot_eager_decomp_partition", "cudagraphs")  # backends that `aten` stands in for


def install(only_executions: bool) -> None:
    """`only_executions`: of compiled models, whose backend has begun the recording. The others do not matter."""
    if not only_executions and _has_compiled():
        hooks.report_unseen("code that was compiled before", "torch.compile had compiled functions before the first recording of this process")
    call_after("torch._subclasses.fake_tensor", _pause_fake_tensors)
    call_after("torch.fx.experimental.proxy_tensor", _pause_snapshots)
    call_after("torch._dynamo.callback", _pause_compilers)
    call_after("torch.export._trace", _pause_export)
    call_after("torch._dynamo.compiled_autograd", _pause_captures)
    # Its import runs operators in some versions, and happens when the program makes its first optimizer.
    call_after("torch._dynamo", _watch_regions, around=unrecorded)


def _has_compiled() -> bool:
    utils = sys.modules.get("torch._dynamo.utils")
    return bool(utils and utils.counters["stats"])


def _pause_fake_tensors() -> None:
    mode = sys.modules["torch._subclasses.fake_tensor"].FakeTensorMode
    for name in ("__torch_dispatch__", "from_tensor"):
        setattr(mode, name, unrecorded(getattr(mode, name)))


def _pause_snapshots() -> None:
    """What `make_fx` keeps of fake tensors: torch copies them without the mode's __torch_dispatch__."""
    tracer: Any = sys.modules["torch.fx.experimental.proxy_tensor"]
    if hasattr(tracer, "snapshot_fake"):
        tracer.snapshot_fake = unrecorded(tracer.snapshot_fake)


def _pause_compilers() -> None:
    """Around each compilation, that of a backward pass included."""
    handler = sys.modules["torch._dynamo.callback"].CompilationCallbackHandler
    if not hasattr(handler, "install_callbacks"):  # before torch 2.6
        return call_after("torch._dynamo.convert_frame", _pause_frames)
    original = handler.install_callbacks

    @contextlib.contextmanager
    def install_callbacks(*args: Any, **kwargs: Any) -> Any:
        with original(*args, **kwargs):
            hooks.pause()
            try:
                yield
            finally:
                hooks.resume()

    handler.install_callbacks = install_callbacks


def _pause_frames() -> None:
    frames: Any = sys.modules["torch._dynamo.convert_frame"]
    frames._compile = unrecorded(frames._compile)


def _pause_export() -> None:
    """Before torch 2.7 tensors that it traces reach the dispatcher."""
    trace: Any = sys.modules["torch.export._trace"]
    if hasattr(trace, "_export"):
        trace._export = unrecorded(trace._export)


def _pause_captures() -> None:
    """While compiled autograd captures the graph of a backward pass: the engine's functions run with fake tensors then, some
    of which cannot be asked for their sizes."""
    instance = sys.modules["torch._dynamo.compiled_autograd"].AutogradCompilerInstance
    begin = instance.begin_capture

    @uncompiled
    @functools.wraps(begin)
    def begin_capture(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooks.pause()
        try:
            captured = begin(self, *args, **kwargs)
        except BaseException:
            hooks.resume()
            raise
        self.stack.callback(hooks.resume)  # at the end of the capture
        return captured

    instance.begin_capture = begin_capture


def _watch_regions() -> None:
    leave_to_python()
    dynamo: Any = sys.modules["torch._dynamo"]
    original = dynamo.optimize

    @functools.wraps(original)
    def optimize(backend: Any = "inductor", *args: Any, **kwargs: Any) -> Any:
        try:
            return original(_wrap(backend), *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise

    dynamo.optimize = optimize


def _wrap(backend: Any) -> Any:
    inner = getattr(backend, "compiler_fn", backend)  # of a backend that torch.compile has wrapped
    name = inner if isinstance(inner, str) else getattr(backend, "compiler_name", None) or getattr(inner, "__name__", "")
    if name == "eager" or getattr(inner, "shows_operators", False) or isinstance(backend, _Backend):
        return backend
    if os.environ.get("OPDUMP_COMPILED", "checked") != "opaque" and name in _REPLACED:
        return _Aten(backend, name == "inductor" and os.environ.get("OPDUMP_COMPILED", "checked") == "checked")
    return _Opaque(backend, name == "inductor")


class _Backend:
    """Looks like the backend in it."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        # No __getattr__: torch looks for attributes before each frame, and would come here again by that.
        for name in ("compiler_name", "get_compiler_config", "compiler_fn"):
            if hasattr(backend, name):
                setattr(self, name, getattr(backend, name))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._backend == other._backend

    def __hash__(self) -> int:
        return hash(type(self))

    def _has_own_numbers(self) -> bool:
        """Whether inductor's kernels make random numbers of their own from a seed that they draw: others than an eager run has."""
        options = getattr(self._backend, "config", {})  # of torch.compile(options=...)
        return not options.get("fallback_random", torch._inductor.config.fallback_random)


@functools.cache
def _say_what_runs() -> None:
    """Once, unless the user has chosen it."""
    if "OPDUMP_COMPILED" not in os.environ:
        print_line("what torch.compile compiled runs operator by operator, without the generated kernels, whose last bits may differ; "
                   "opdump run --compiled opaque leaves it alone, --compiled aten hides this line")


class _Aten(_Backend):
    def __init__(self, backend: Any, is_checked: bool) -> None:
        super().__init__(backend)
        self._is_checked = is_checked

    def _generate(self, module: torch.fx.GraphModule, **options: Any) -> GeneratedCode | None:
        captures = getattr(self._backend, "config", {}).get("triton.cudagraphs")  # such graphs keep what they are run with
        if not self._is_checked or captures:
            return None
        return GeneratedCode(functools.partial(_backend_of(self._backend), **options), module, self._has_own_numbers())

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any], **options: Any) -> Callable[..., Any]:
        try:
            from torch._dynamo.backends.common import aot_autograd
        except ImportError:  # torch 2.0
            from torch._dynamo.optimizations.training import aot_autograd
        if getattr(self._backend, "compiler_name", self._backend) != "aot_eager":
            _say_what_runs()
        from functorch.compile import min_cut_rematerialization_partition

        region = _Region()
        name = "compiled_" + _compile_id()
        generated = self._generate(module, **options)
        compiled = aot_autograd(fw_compiler=functools.partial(_interpret, region, "forward"),
                            bw_compiler=functools.partial(_interpret, region, "backward"),
                            inference_compiler=functools.partial(_interpret, region, "inference"),
                            partition_fn=min_cut_rematerialization_partition,
                            keep_inference_input_mutations=True)(module, inputs)

        @_named_as(compiled)
        def run(*args: Any) -> Any:
            if not hooks.active():
                return compiled(*args)
            # Breaks of the graph and recompilations are seen by it.
            _hidden(torch.ops.opdump_torch.mark_region, name, _tensors(args))
            expected = generated.results_of(args) if generated else None
            made = compiled(*args)
            if expected is not None:
                report_difference(name, expected, _tensors([made, args]), is_exact(args))
            return made

        return run


class _Region:
    """Where the graphs of a region run: the scope of the call under way. Modules that are alike share a region, and their
    backward passes come in reverse order."""

    def __init__(self) -> None:
        self.scope = 0
        self.forward: collections.deque[int] = collections.deque(maxlen=1024)  # calls whose backward pass has not come


def _optimizer_in(graph: torch.fx.Graph) -> str:
    """The class of the optimizer whose step a graph has; "" if it has none."""
    files = files_of_steps()
    return next((name for node in graph.nodes if (name := optimizer_of(_frames(node), files))), "") if files else ""


def _step_of(optimizer: str) -> Any:
    """What torch reports around a step(), and compilers leave out: steps of the program are counted by it."""
    return torch.autograd.profiler.record_function(f"Optimizer.step#{optimizer}.step") if optimizer else contextlib.nullcontext()


def _interpret(region: _Region, kind: str, module: torch.fx.GraphModule, inputs: Any) -> Callable[[list[Any]], Any]:
    """Runs the graph as it is; in a recorded step node by node."""
    interpreter = _Nodes(module, region, kind == "backward")

    def run(args: list[Any]) -> Any:
        if kind != "backward":
            region.scope = hooks.module_scope()
        elif region.forward:
            region.scope = region.forward.pop()
        if kind == "forward":
            region.forward.append(region.scope)
        with _step_of(interpreter.optimizer):
            if not hooks.active():
                values = list(args)
                args.clear()
                return module.forward(*values)
            return interpreter.boxed_run(args)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def run_by_node(module: torch.fx.GraphModule) -> Callable[..., Any]:
    """Runs the graph of a program as it is; in a recorded step node by node, each with its module and line."""
    region = _Region()
    interpreter = _Nodes(module, region, False)

    def run(*args: Any) -> Any:
        hooks.join_thread()  # the compiler has restored the thread's dispatch keys since the recording began
        with _step_of(interpreter.optimizer):
            if not hooks.active():
                return module.forward(*args)
            region.scope = hooks.module_scope()
            return interpreter.run(*args)

    return run


class _Nodes(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule, region: _Region, is_backward: bool) -> None:
        super().__init__(module)
        self.extra_traceback = False  # adds the node to the message of an error
        self._region, self._is_backward = region, is_backward
        types = _class_names(module.graph)
        calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
        self._places = {node: (_path(node, types), *_line(node)) for node in calls}
        self.optimizer = _optimizer_in(module.graph)
        files = files_of_steps() if self.optimizer else {}
        self._of_step = {node for node in calls if not _frames(node) or optimizer_of(_frames(node), files)} if files else set()
        # torchair.scope.data_dump(), as torch.fx.traceback.annotate() has kept it.
        self._marks = {node: mark for node in calls if (mark := (node.meta.get("custom") or {}).get("opdump.mark"))}

    def run_node(self, node: torch.fx.Node) -> Any:
        place = self._places.get(node)
        if place is None:
            return super().run_node(node)
        mark = self._marks.get(node)
        if node in self._of_step:  # what it writes back at the end is of no line
            hooks.enter_node(0, f"optimizer-{self.optimizer}", *place[1:], self._is_backward)
        else:
            hooks.enter_node(self._region.scope, *place, self._is_backward)
        if mark:
            hooks.mark(mark)
        try:
            return super().run_node(node)
        finally:
            if mark:
                hooks.mark(None)
            hooks.leave_node()

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The node names it: our wrapper of its __call__ must not name it again."""
        return torch.nn.Module._call_impl(self.fetch_attr(target), *args, **kwargs)


def _module_stack(node: torch.fx.Node) -> list[tuple[tuple[str, ...], str]]:
    """The modules around a node, outermost first: their attributes, and the name of their class."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    modules = []
    for path, kind in stack.values():
        path = path.replace("getattr(", "")  # torch 2.4: "getattr(L['net'], '0')"
        names = [a or b or c for a, b, c in re.findall(r"\.(\w+)|\[['\"]?(\w+)['\"]?\]|, '(\w+)'\)", path)]
        if path.startswith(("L[", "G[")):
            names = names[1:]  # the variable that holds the model
        names = tuple(name for name in names if name not in ("_modules", "_orig_mod"))
        modules.append((names, kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__))
    return modules


def _class_names(graph: torch.fx.Graph) -> dict[tuple[str, ...], str]:
    return {names: kind for node in graph.nodes for names, kind in _module_stack(node)}


def _path(node: torch.fx.Node, types: dict[tuple[str, ...], str]) -> str:
    """As in a program that is not compiled: "layers-ModuleList/0-Linear"."""
    stack = _module_stack(node)
    if not stack:
        return ""
    names = stack[-1][0]
    return "/".join(f"{names[i]}-{types.get(names[:i + 1], 'ModuleList')}" for i in range(len(names)))


def _frames(node: torch.fx.Node) -> list[tuple[str, str, str]]:
    return re.findall(r'File "([^"]+)", line (\d+), in (.+)', node.meta.get("stack_trace") or "")


def _line(node: torch.fx.Node) -> tuple[str, int, str]:
    """The file, the line and "file:line:function" of the innermost call of the program's own code."""
    own = [frame for frame in _frames(node) if not frame[0].startswith(LIBRARIES)]
    if not own:
        return "", 0, ""
    file, line, function = own[-1]
    here = os.getcwd() + os.sep
    file = file.removeprefix(here)
    return file, int(line), f"{file}:{line}:{function.strip()}"


class _Opaque(_Backend):
    def __init__(self, backend: Any, is_inductor: bool) -> None:
        super().__init__(backend)
        self._is_inductor = is_inductor

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any], **kwargs: Any) -> Callable[..., Any]:
        backend = _backend_of(self._backend)
        name = "compiled_" + _compile_id()
        has_own_numbers = self._is_inductor and self._has_own_numbers()
        optimizer = _optimizer_in(module.graph)
        compiled = backend(module, inputs, **kwargs)
        graph = _graph_of(compiled)
        if graph is not None and os.environ.get("OPDUMP_COMPILED") != "opaque":
            return _named_as(compiled)(run_by_node(graph))

        @_named_as(compiled)
        def run(*args: Any) -> Any:
            with _step_of(optimizer):
                return run_region(*args)

        def run_region(*args: Any) -> Any:
            is_recorded = hooks.active()
            before: Any = None
            call: Any = None
            if is_recorded:
                before = _hidden(torch.get_rng_state)
                call = _hidden(torch.ops.opdump_torch.begin_region, name, _tensors(args))
                hooks.enter_generated()
            result = ()
            try:
                result = compiled(*args)
                return result
            except BaseException as error:
                leave_no_frame(error)
                raise
            finally:
                if is_recorded:
                    hooks.leave_generated()
                    draws = has_own_numbers and not _hidden(torch.equal, before, _hidden(torch.get_rng_state))
                    _hidden(torch.ops.opdump_torch.end_region, call, _tensors(result), draws)

        return run


def _graph_of(compiled: Callable[..., Any]) -> torch.fx.GraphModule | None:
    """The graph that a backend gave back to be run, as one does that changes nodes and returns `module.forward`; None if it gave back
    code of its own."""
    owner: Any = getattr(compiled, "__self__", compiled)
    is_graph = isinstance(owner, torch.fx.GraphModule) and compiled in (owner, owner.forward)
    return owner if is_graph else None


def _backend_of(named: Any) -> Callable[..., Any]:
    from torch._dynamo.backends.registry import lookup_backend

    return lookup_backend(named) if isinstance(named, str) else named


def _named_as(compiled: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Without its attributes: by them torch 2.4 finds the function in it, and calls that."""
    return functools.wraps(compiled, updated=())


def _hidden(function: Callable[..., Any], *args: Any) -> Any:
    hooks.hide()
    try:
        return function(*args)
    finally:
        hooks.unhide()


def _tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in torch.utils._pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


def _compile_id() -> str:
    """"0_1": the second compilation of the first region."""
    try:
        return str(torch._guards.CompileContext.current_compile_id()).replace("/", "_")
    except (AttributeError, AssertionError):
        return "0"
