"""What shuffling adds: the central guarantee of n reports that are each epsilon-private alone.

Feldman, McMillan and Talwar, "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of
Privacy Amplification by Shuffling", FOCS 2021, arXiv 2012.12803, the closed form. It is an upper
bound; their numerical one is about three times lower.
"""

import math

DELTA = 1e-6


def central_epsilon(epsilon: float, reports: int, delta: float = DELTA) -> tuple[float, float]:
    """(epsilon, delta) of ``reports`` shuffled reports whose randomizers are all epsilon-private.

        a = 8 sqrt(e^ε ln(4/δ) / n) + 8 e^ε / n
        ε_central = ln(1 + (1 - e^-ε) / (1 + e^(-ε - ln(1 + a))) a),  for ε <= ln(n / (16 ln(4/δ)))

    With too few reports for the bound, or none that is better, the local (epsilon, 0) stands.
    """
    if reports < 1 or epsilon > math.log(reports / (16 * math.log(4 / delta))):
        return epsilon, 0.0
    scale = math.exp(epsilon)
    a = 8 * math.sqrt(scale * math.log(4 / delta) / reports) + 8 * scale / reports
    share = (1 - 1 / scale) / (1 + 1 / (scale * (1 + a)))
    central = math.log1p(share * a)
    return (central, delta) if central < epsilon else (epsilon, 0.0)
