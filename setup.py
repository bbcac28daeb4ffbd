"""The one thing pyproject.toml can't say: the native kernel is optional.

If no C compiler is at hand the package installs all the same, scores with numpy, and
`docpruner doctor` says so.
"""

import os

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "docpruner._maxsim",
            sources=["src/docpruner/native/maxsim.c"],
            depends=["src/docpruner/native/tile.h"],
            extra_compile_args=["/O2"] if os.name == "nt" else ["-O3", "-std=c11", "-Wall"],
            optional=True,
        )
    ]
)
