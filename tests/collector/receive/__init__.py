"""Tests of the OTLP edges."""
