"""Where an index is kept: the contract of all stores, and the stores there are.

contract.py     what a store does: `Store`, `Reader`, `Writer`
records.py      what goes in and comes out, typed
page_map.py     where a page's vectors came from, and its form in bytes
locations.py    a location to its store
folder/         the local one: SQLite and memory-mapped vectors
memory.py       one that is gone with the process
"""
