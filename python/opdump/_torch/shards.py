"""Which part of a tensor this process has, as torch's DTensor says it."""

from __future__ import annotations

import functools
from typing import Any

from opdump._frames import leave_no_frame
from opdump._torch import recorder as hooks

_MOST_LAYOUTS = 4096  # more than any program has

_layouts: dict[Any, tuple[tuple[int, ...], tuple[int, ...], str] | None] = {}


def describe_shard(tensor: Any) -> tuple[int, int, tuple[int, ...], tuple[int, ...], str] | None:
    """The addresses of its part and of what operators see of that; the mesh, the place in it, and the placements. None if it
    is no DTensor, or this process has no part."""
    spec, part = getattr(tensor, "_spec", None), getattr(tensor, "_local_tensor", None)
    if spec is None or part is None:
        return None
    key = (spec.mesh, spec.placements, getattr(spec, "shard_order", None))
    if key not in _layouts:
        if len(_layouts) >= _MOST_LAYOUTS:
            _layouts.clear()
        hooks.pause()
        try:
            _layouts[key] = _describe_layout(*key)
        finally:
            hooks.resume()
    layout = _layouts[key]
    # An asynchronous collective has given a tensor that waits for its elements.
    return layout and (part._cdata, getattr(part, "elem", part)._cdata, *layout)


def _describe_layout(mesh: Any, placements: tuple[Any, ...], order: Any) -> tuple[tuple[int, ...], tuple[int, ...], str] | None:
    words = [_describe_placement(placement) for placement in placements]
    for entry in order or ():
        if list(entry.mesh_dims) != sorted(entry.mesh_dims):  # an axis is cut by a later dimension of the mesh first
            for dim in entry.mesh_dims:
                words[dim] = "any"
    # A part of a mesh: nothing is known of the other dimensions.
    root = mesh._get_root_mesh() if hasattr(mesh, "_get_root_mesh") else _root_of(mesh)
    names, own = root.mesh_dim_names or (), mesh.mesh_dim_names or ()
    if own and tuple(name for name in names if name in own) == tuple(own):
        by_name = dict(zip(own, words))
        mesh, words = root, [by_name.get(name, "any") for name in names]
    place = mesh.get_coordinate()
    return None if place is None else (tuple(mesh.shape), tuple(place), " ".join(words))


def _root_of(mesh: Any) -> Any:
    """Before torch 2.9."""
    from torch.distributed.device_mesh import _mesh_resources

    return _mesh_resources.get_root_mesh(mesh)


def _describe_placement(placement: Any) -> str:
    kind = type(placement).__name__
    if kind == "Replicate":
        return "replicate"
    if kind == "Shard":
        return f"shard:{placement.dim}"
    if kind == "_StridedShard":
        return f"shard:{placement.dim}:{placement.split_factor}"
    if kind == "Partial" and placement.reduce_op == "sum":
        return "sum"
    return "any"


def note_meshes(initialise: Any) -> Any:
    """In place of DeviceMesh.__init__: there is no DTensor without a mesh."""

    @functools.wraps(initialise)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        hooks.expect_shards()
        try:
            initialise(self, *args, **kwargs)
        except BaseException as error:
            leave_no_frame(error)
            raise

    return __init__
