"""Lets the image transforms of torchvision import beside a CPU-only torch.

On PyPI torchvision is a CUDA build. Beside a CPU torch its C++ library stays unloaded and its
import fails because two operators were never declared. No test here calls them.
"""

import importlib.util

_MISSING_OPERATORS = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_declared: list[object] = []  # a torch Library takes its operators along when it is collected


def _declare_missing_operators() -> None:
    import torch

    library = torch.library.Library("torchvision", "DEF")  # noqa: TOR901
    for name in _MISSING_OPERATORS:
        library.define(name + _SCHEMA)
    _declared.append(library)


def _make_torchvision_importable() -> None:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("torchvision") is None:
        return
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
        _declare_missing_operators()


_make_torchvision_importable()
