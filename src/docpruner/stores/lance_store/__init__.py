"""An index in one Lance table, on a disk or in object storage; several processes may write to it.

A row is a page, a document, or the settings, and a fragment (a file of rows) holds rows of one kind
only. Every change is one commit to the table, made of new fragments and of rows taken out of old
ones, and every commit touches the fragment of the settings: so of two changes that began at the
same version Lance lets one through, and the other is made again on top of it.
"""

from docpruner.errors import MissingExtraError

try:
    import lance  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError as error:
    raise MissingExtraError("an index in Lance", "lance") from error
