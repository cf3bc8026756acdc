"""Whether an answer needs help: signals, their weights per family of tasks, calibration, and the detector."""
