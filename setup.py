"""The one thing pyproject.toml can't say: the native kernels are optional.

If no C compiler is at hand the package installs all the same, scores with numpy, and
`docpruner doctor` says so.
"""

from setuptools import Extension, setup

FLAGS = ["-O3", "-std=c11", "-Wall", "-Wextra"]

setup(
    ext_modules=[
        Extension(
            "docpruner._maxsim",
            sources=["src/docpruner/native/maxsim.c"],
            depends=[
                "src/docpruner/native/ops_256.h",
                "src/docpruner/native/tile.h",
                "src/docpruner/native/tile_undef.h",
            ],
            extra_compile_args=FLAGS,
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "docpruner._probe",
            sources=["src/docpruner/native/probe.c"],
            extra_compile_args=FLAGS,
            py_limited_api=True,
            optional=True,
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
