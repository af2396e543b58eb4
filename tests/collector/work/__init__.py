"""Tests of collector/work and its statements."""
