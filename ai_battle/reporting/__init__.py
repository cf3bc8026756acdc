"""Views of a run, rendered from its journal: at any time, as often as wanted, at the cost of no model call."""
