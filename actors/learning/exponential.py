"""The exponential function, the same to the last bit on every platform."""

from __future__ import annotations

from math import ldexp

_LN2 = 0.6931471805599453
_LN2_HIGH = 6.93147180369123816490e-01  # its first 32 bits: times a power of 2 up to 2 ** 11 it is exact
_LN2_LOW = 1.90821492927058770002e-10


def exp(x: float) -> float:
    """Return e ** x for x <= 0 within 1e-15, of basic operations alone.

    The C library's `exp` differs in the last bit from one platform to the next, and draws must not. The argument is
    reduced to r = x - k ln 2, |r| <= ln 2 / 2, as in fdlibm's e_exp.c, and the Taylor series summed to its 14th term.
    """
    if x < -745.2:
        return 0.0
    k = round(x / _LN2)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    total = 1.0
    for n in range(14, 0, -1):
        total = 1.0 + total * r / n
    return ldexp(total, k)
