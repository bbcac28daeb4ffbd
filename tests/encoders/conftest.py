"""Sets torch up for the tests: torchvision beside a CPU-only torch, and one thread.

On PyPI torchvision is a CUDA build. Beside a CPU torch its C++ library stays unloaded and its
import fails because two operators were never declared. No test here calls them; the image
transforms do without.
"""

import importlib.util

_MISSING_OPERATORS = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_declared: list[object] = []  # a torch Library takes its operators along when it is collected


def _declare_missing_operators() -> None:
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for name in _MISSING_OPERATORS:
        library.define(name + _SCHEMA)
    _declared.append(library)


def _make_torchvision_importable() -> None:
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
        _declare_missing_operators()


def _use_one_thread() -> None:
    """On a busy machine the threads of a tiny model mostly wait for each other: 57 s, not 12."""
    import torch

    torch.set_num_threads(1)


if importlib.util.find_spec("torch") is not None:
    _use_one_thread()
    if importlib.util.find_spec("torchvision") is not None:
        _make_torchvision_importable()
