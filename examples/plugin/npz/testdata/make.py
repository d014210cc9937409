"""Writes sample.npz beside this file: make.py, with NumPy 2.4.6."""
import pathlib
import numpy as np

here = pathlib.Path(__file__).parent
x = np.arange(12).reshape(3, 4) / 8 - 0.5
np.savez(here / "sample.npz", **{
    "a.weight": x.astype("<f4"), "b.half": x.astype("<f2"), "c.double": x.astype("<f8"),
    "d.vector": np.array([1.5, -2.25], "<f4"), "e.scalar": np.array(7, "<f4"),
})
