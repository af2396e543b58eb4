"""Tests of the collector and its worker."""
