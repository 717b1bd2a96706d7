"""What takes the place of functions of TensorFlow and Keras."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.client import session as sessions
from tensorflow.python.eager import backprop, context
from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function
from tensorflow.python.framework import ops  # pyright: ignore[reportAttributeAccessIssue] - typeshed has only parts of TensorFlow
from tensorflow.python.training import optimizer as optimizers_v1  # pyright: ignore[reportAttributeAccessIssue] - likewise

from opdump import _imports
from opdump._tensorflow import lines
from opdump._tensorflow.reporter import FUNCTION, OPTIMIZER, SESSION, reporter

Function = Callable[..., Any]
_inside = threading.local()  # models that call models


def install(*, runs_as_written: bool) -> None:
    """Once per process, before the program's first operator. `runs_as_written`: graphs are not optimised."""
    _wrap(atomic_function.AtomicFunction, "call_flat", _reporting_function)
    _wrap(sessions.BaseSession, "_do_run", _reporting_session)
    _wrap(backprop.GradientTape, "__enter__", _reporting_tape)
    for name in ("gradient", "jacobian", "batch_jacobian"):
        _wrap(backprop.GradientTape, name, _in_gradients)
    pywrap_tfe.TFE_Py_RegisterGradientFunction(_in_gradient_of(backprop._gradient_function))
    _wrap_optimizers(optimizers_v1.__name__, "Optimizer", ["apply_gradients"])
    _wrap_optimizers("keras.src.optimizers.base_optimizer", "BaseOptimizer", ["apply"])
    _wrap_optimizers("tf_keras.src.optimizers.optimizer", "_BaseOptimizer", ["apply_gradients"])
    _wrap_optimizers("tf_keras.src.optimizers.legacy.optimizer_v2", "OptimizerV2", ["apply_gradients"])
    for module in ("keras.src.models.model", "tf_keras.src.engine.training"):
        _imports.call_after(module, lambda module=module: _wrap(sys.modules[module].Model, "__call__", _reporting_model))
    if runs_as_written:
        _run_as_written()


def _reporting_function(call_flat: Function) -> Function:
    @functools.wraps(call_flat)
    def reported(self: Any, *args: Any) -> Any:
        if not reporter.is_recording or not context.executing_eagerly():
            return call_flat(self, *args)
        with contextlib.ExitStack() as running:
            if getattr(self.graph, "_opdump_trains", False):  # its end is that of an optimizer
                running.enter_context(reporter.section(OPTIMIZER, "an optimizer", lambda: "optimizer"))
            running.enter_context(reporter.section(FUNCTION, "a function", lambda: _enter_function(self)))
            return call_flat(self, *args)

    return reported


def _enter_function(function: Any) -> str:
    reporter.report_context()
    if reporter.library.is_active():
        with reporter.nothing_reaches_the_program("lines of the program"):
            reporter.report_lines_of(function)
    return re.sub(r"_\d+$", "", function.name.decode() if isinstance(function.name, bytes) else function.name)


def _reporting_session(do_run: Function) -> Function:
    @functools.wraps(do_run)
    def reported(self: Any, handle: Any, target_list: Any, fetch_list: Any, *args: Any, **kwargs: Any) -> Any:
        def unit() -> str:
            if reporter.library.is_active():
                with reporter.nothing_reaches_the_program("lines of the program"):
                    lines.report_of_graph(reporter.library, self.graph)
                    for function in list(self.graph._functions.values()):  # branches and bodies of loops
                        reporter.report_lines_of(function)
            return "session " + " ".join(sorted(thing.name for thing in (*target_list, *fetch_list)))

        with reporter.section(SESSION, "a session", unit):
            return do_run(self, handle, target_list, fetch_list, *args, **kwargs)

    return reported


def _reporting_optimizer(apply: Function) -> Function:
    """An optimizer that Python runs directly. In a function its operators are recognised by their scope."""

    @functools.wraps(apply)
    def reported(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not reporter.is_recording:
            return apply(self, *args, **kwargs)
        with reporter.nothing_reaches_the_program("an optimizer"):
            reporter.add_optimizer(self)
            if not context.executing_eagerly():
                _mark_graphs()
        if not context.executing_eagerly():
            return apply(self, *args, **kwargs)
        with reporter.section(OPTIMIZER, "an optimizer", lambda: "optimizer"):
            return apply(self, *args, **kwargs)

    return reported


def _in_gradients(function: Function) -> Function:
    """Operators of a gradient that Python runs directly get the names that they have in a graph."""

    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        outer, reporter.gradients.scope = getattr(reporter.gradients, "scope", ""), "gradient_tape/"
        try:
            return function(*args, **kwargs)
        finally:
            reporter.gradients.scope = outer

    return computed


def _in_gradient_of(function: Function) -> Function:
    """The same for the gradient of one operator: "gradient_tape/dense/MatMul/"."""

    @functools.wraps(function)
    def computed(type_name: str, *args: Any) -> Any:
        outer = getattr(reporter.gradients, "scope", "")
        scope = args[-1].rstrip("/") + "/" if args[-1] else ""
        reporter.gradients.scope = f"gradient_tape/{scope}{type_name}/"
        try:
            return function(type_name, *args)
        finally:
            reporter.gradients.scope = outer

    return computed


def _mark_graphs() -> None:
    """Marks the function that is traced, and those around it: they train."""
    graph = ops.get_default_graph()
    while graph is not None:
        graph._opdump_trains = True
        graph = getattr(graph, "outer_graph", None)


def _noting_optimizer(init: Function) -> Function:
    @functools.wraps(init)
    def noted(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if reporter.is_recording:
            with reporter.nothing_reaches_the_program("an optimizer"):
                reporter.add_optimizer(self)

    return noted


def _reporting_model(call: Function) -> Function:
    """A model that Python calls directly: in a program without an optimizer, each call of it is a step."""

    @functools.wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not reporter.is_recording or getattr(_inside, "model", False) or not context.executing_eagerly():
            return call(self, *args, **kwargs)
        with reporter.nothing_reaches_the_program("a model"):
            reporter.library.begin_unit(f"model {id(self)}".encode())
        _inside.model = True
        try:
            return call(self, *args, **kwargs)
        finally:
            _inside.model = False

    return __call__


def _reporting_tape(enter: Function) -> Function:
    """The same for training without an optimizer of TensorFlow: the line that records gradients is reached again."""

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        if reporter.is_recording and context.executing_eagerly():
            with reporter.nothing_reaches_the_program("a tape"):
                reporter.library.begin_unit("tape {}:{}".format(*lines.find_line()).encode("utf-8", "replace"))
        return enter(self)

    return __enter__


def _wrap(owner: Any, name: str, wrapper: Callable[[Function], Function]) -> None:
    setattr(owner, name, wrapper(getattr(owner, name)))


def _wrap_optimizers(module: str, class_name: str, methods: Iterable[str]) -> None:
    def wrap() -> None:
        owner = getattr(sys.modules[module], class_name)
        _wrap(owner, "__init__", _noting_optimizer)
        for method in methods:
            _wrap(owner, method, _reporting_optimizer)

    _imports.call_after(module, wrap)


def _run_as_written() -> None:
    """Graphs run without TensorFlow's optimisations and XLA: golden data has the result of each operator that the program names,
    whatever a device fuses."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    _wrap(sessions.BaseSession, "__init__", _without_optimisation)
    _wrap(polymorphic_function.Function, "__init__", _without_xla)


def _without_optimisation(init: Function) -> Function:
    @functools.wraps(init)
    def created(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if isinstance(config, config_pb2.ConfigProto):  # the one by default has the option already
            given, config = config, config_pb2.ConfigProto()
            config.CopyFrom(given)
            config.graph_options.rewrite_options.disable_meta_optimizer = True
        init(self, target, graph, config)

    return created


def _without_xla(init: Function) -> Function:
    @functools.wraps(init)
    def created(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **{**kwargs, "jit_compile": False})

    return created
