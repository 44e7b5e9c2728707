"""Bargaining: buyers and sellers who settle on prices, and on terms, in words."""
