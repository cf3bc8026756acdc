"""Benchmarks: settings compared on real tasks, with what they cost and how sure the comparison is."""
