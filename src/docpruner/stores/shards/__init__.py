"""Several indexes searched as one: each of them is a shard, and keeps its own store."""
