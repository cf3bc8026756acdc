"""Tests of what pairs have shown."""
