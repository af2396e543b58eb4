"""Tests of the signals of silent suppression."""
