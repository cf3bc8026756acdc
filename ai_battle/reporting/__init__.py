"""Renders a run from its journal: at any time, as often as wanted, without calling a model."""
