"""Tests of the whole: real processes, real servers, real exporters."""
