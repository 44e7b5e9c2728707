"""Agents that follow a rule: one module per game, and agents for any game."""
