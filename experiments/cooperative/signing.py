"""The binary sign game: everybody gains if enough sign, only signers pay, and all choose at once."""

from __future__ import annotations

from math import comb, fsum

import msgspec

MOST_AGENTS = 1000
"""With a few more, a binomial coefficient is too large for a float."""


class SignEquilibrium(msgspec.Struct, frozen=True):
    """A symmetric equilibrium in which each agent is indifferent.

    Attributes:
        probability: With which each agent signs.
        provision: Probability that enough sign.
    """

    probability: float
    provision: float


def sign_game_equilibria(n: int, q: int, cost_ratio: float, refund: bool) -> list[SignEquilibrium]:
    """Return the symmetric equilibria in mixed strategies of n agents of whom q must sign.

    If q or more of n sign, every agent gains the value v, whether it signed or not. A signer pays c; with `refund`
    only if q or more sign, without it in any case. Let K be how many of the n - 1 others sign, each with
    probability p, so K is binomial. Signing changes what is provided only if K = q - 1, and so gains

        without refund:  v P(K = q - 1) - c
        with refund:     v P(K = q - 1) - c P(K >= q - 1)

    A p strictly between 0 and 1 is an equilibrium exactly when the gain is 0.

    Without refund: P(K = q - 1) rises until p = (q - 1) / (n - 1) and falls after it, so c/v is reached once on each
    side, or at the peak, or never. At q = 1 and at q = n the peak is at an end, and one side is left.

    With refund: P(K = q - 1) / P(K >= q - 1) is 1 / sum_j a_j r**j with a_j = C(n-1, q-1+j) / C(n-1, q-1) and the
    odds r = p / (1 - p). For q < n it falls from 1 to 0, so c/v is reached exactly once. For q = n it is 1
    throughout: signing never loses, and there is no mixed equilibrium.

    Equilibria in pure strategies are left out: that nobody signs, for q > 1; that everybody does, for q = n.

    Palfrey and Rosenthal (1984), "Participation and the provision of discrete public goods: a strategic analysis",
    Journal of Public Economics 24.

    Args:
        n: How many agents, up to 1000.
        q: How many must sign.
        cost_ratio: c/v, strictly between 0 and 1.
        refund: Whether signers get back what they paid when too few sign.

    Returns:
        By rising probability: none, one or two.
    """
    from scipy.optimize import brentq

    _check(n, q, cost_ratio)

    def gain(p: float) -> float:
        return gain_from_signing(n, q, cost_ratio, refund, p)

    roots: list[float] = []
    if refund and q < n:
        # over P(K >= q - 1) it is monotone; the gain itself is 0 at p = 0, where no root is meant
        roots = [brentq(lambda p: _hazard(n, q, p) - cost_ratio, 0, 1)]
    elif not refund and n > 1:
        peak = (q - 1) / (n - 1)
        if gain(peak) == 0:
            roots = [peak]
        elif gain(peak) > 0:
            roots = [brentq(gain, *ends) for ends in ((0, peak), (peak, 1)) if ends[0] < ends[1]]
    return [SignEquilibrium(p, _at_least(n, q, p)) for p in roots]


def gain_from_signing(n: int, q: int, cost_ratio: float, refund: bool, probability: float) -> float:
    """Return what an agent gains by signing rather than not, when each other one signs with a probability.

    It is a part of the value; see `sign_game_equilibria` for the game. What an agent loses by doing the worse
    instead of the better, its regret, is the absolute amount.
    """
    _check(n, q, cost_ratio)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability={probability}: between 0 and 1 is needed")
    paid = _at_least(n - 1, q - 1, probability) if refund else 1.0
    return _exactly(n - 1, q - 1, probability) - cost_ratio * paid


def _check(n: int, q: int, cost_ratio: float) -> None:
    if n > MOST_AGENTS:
        raise ValueError(f"n={n}: up to {MOST_AGENTS} agents can be reckoned with")
    if not 1 <= q <= n:
        raise ValueError(f"q={q}: between 1 and {n}, the number of agents, is needed")
    if not 0 < cost_ratio < 1:
        raise ValueError(f"cost_ratio={cost_ratio}: strictly between 0 and 1 is needed; otherwise nobody hesitates")


def _exactly(n: int, k: int, p: float) -> float:
    return float(comb(n, k) * p**k * (1 - p) ** (n - k))


def _at_least(n: int, k: int, p: float) -> float:
    return fsum(_exactly(n, signers, p) for signers in range(k, n + 1))


def _hazard(n: int, q: int, p: float) -> float:
    """Return P(K = q - 1) / P(K >= q - 1), with both divided by p**(q - 1), which may be too small for a float."""
    terms = [comb(n - 1, k) * p ** (k - q + 1) * (1 - p) ** (n - 1 - k) for k in range(q - 1, n)]
    return terms[0] / fsum(terms)
