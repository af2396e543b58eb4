"""Tests of the weekly review's decisions."""
