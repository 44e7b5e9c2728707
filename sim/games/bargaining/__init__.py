"""Bargaining: buyers and sellers who settle on prices, and on terms, in words."""

from sim.games.bargaining.actions import Choose, Reply
from sim.games.bargaining.game import BargainingGame
from sim.games.bargaining.parameters import Buyer, Product, Seller
from sim.games.bargaining.terms import Term

__all__ = ["BargainingGame", "Buyer", "Choose", "Product", "Reply", "Seller", "Term"]
