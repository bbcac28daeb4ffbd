"""Data to measure on: folders of one's own, and public benchmarks."""
