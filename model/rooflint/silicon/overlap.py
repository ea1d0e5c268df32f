"""Overlap: what two things take that mostly happen at the same time.

(one^p + other^p)^(1/p): p = 1 is one after the other, p = ∞ side by side.
"""

import numpy as np

from rooflint.silicon.shapes import Numbers


def overlapped(one: Numbers | float, other: Numbers | float, exponent: float) -> Numbers:
    """What both take together, in the unit of each; no less than the longer."""
    longer, shorter = np.maximum(one, other), np.minimum(one, other)
    together: Numbers = longer * (1 + (shorter / longer) ** exponent) ** (1 / exponent)
    return together


def alone(together: Numbers, other: Numbers, exponent: float) -> Numbers:
    """What one takes by itself, where it takes so long together with the other: `overlapped` turned round."""
    share = np.divide(other, together, out=np.zeros_like(together), where=together > 0)
    one: Numbers = together * (1 - np.minimum(share, 1.0) ** exponent) ** (1 / exponent)
    return one
