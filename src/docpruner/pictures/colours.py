"""The colours of the room, all safe for the colour-blind."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
STRONG: Colour = (32, 35, 40)  # what is read
MUTED: Colour = (106, 112, 122)  # what names it
RULE: Colour = (206, 210, 216)
PRUNED: Colour = (222, 225, 230)
LIT: Colour = (255, 196, 48)  # as a highlighter pen

# Okabe and Ito, without black and the two that drown in `LIT`.
WORDS: tuple[Colour, ...] = (
    (0, 114, 178),  # blue
    (213, 94, 0),  # vermilion
    (0, 158, 115),  # bluish green
    (204, 121, 167),  # reddish purple
    (86, 180, 233),  # sky blue
)

# Plasma from its light end, without its extremes: paper is light, so what matters is dark.
_HEAT = np.array(
    [
        (255, 233, 130),
        (254, 202, 72),
        (250, 158, 59),
        (237, 121, 83),
        (216, 87, 107),
        (184, 50, 137),
        (144, 13, 164),
        (98, 0, 160),
    ],
    np.float64,
)


def heat(strength: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """The colours, (..., 3), of strengths from 0 to 1: light yellow to deep purple."""
    place = np.clip(np.asarray(strength, np.float64), 0, 1) * (len(_HEAT) - 1)
    low = np.minimum(place.astype(np.intp), len(_HEAT) - 2)
    part = (place - low)[..., None]
    colours: npt.NDArray[np.uint8] = np.rint(
        _HEAT[low] * (1 - part) + _HEAT[low + 1] * part
    ).astype(np.uint8)
    return colours


def luminance(colour: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Relative luminance, 0 to 1, of colours (..., 3) in sRGB."""
    value = np.asarray(colour, np.float64) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    weighted: npt.NDArray[np.float64] = linear @ np.array([0.2126, 0.7152, 0.0722])
    return weighted


def ink_on(colour: Colour) -> Colour:
    """White or nearly black, whichever reads better on a colour."""
    return WHITE if luminance(colour) < 0.25 else STRONG


def mixed(colour: Colour, other: Colour, part: float) -> Colour:
    """`part` of `other` in `colour`."""
    r, g, b = (round(a + (b - a) * part) for a, b in zip(colour, other, strict=True))
    return r, g, b
