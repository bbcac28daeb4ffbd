"""An index that `docpruner serve` serves, searched from another program or machine."""

from docpruner.client.remote_index import Client

__all__ = ["Client"]
