"""Scripted agents of the coalition game."""
