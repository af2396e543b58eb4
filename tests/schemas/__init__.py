"""Tests of the language that all parts share."""
