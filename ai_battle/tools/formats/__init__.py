"""Wrappers that give a model without native tool calling the same interface."""
