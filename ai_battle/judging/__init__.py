"""Decides whether an answer needs help: signals, weights per family of tasks, calibration, and the detector."""
