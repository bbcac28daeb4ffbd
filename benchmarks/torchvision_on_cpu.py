"""For benchmarks that run colpali-engine where torchvision is a CUDA build beside a CPU torch."""


def make_torchvision_importable() -> None:
    """Declare the two operators its import looks for; image transforms need none of them."""
    try:
        import torchvision
    except RuntimeError:
        import torch

        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision  # noqa: F401  # here, as the library takes its operators along
