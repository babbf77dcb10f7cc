"""Memoized answers over time, in the manner of L-GRR and LOLOHA.

A person draws a permanent answer to each value that its record takes, once, and in every wave
answers anew from that:

    L-GRR    generalized randomized response on k values at epsilon ``permanent``, once, and on its
             answer again in each wave (Arcolezi et al., 2021, arXiv:2111.04636)
    LOLOHA   the same on one of g hashes of the value, by a hash function that the person draws once
             (Arcolezi et al., 2023, "Frequency Estimation of Evolving Data Under Local Differential
             Privacy", EDBT)

Of generalized randomized response on m answers at epsilon e the part lambda(e) = (e^e - 1) /
(e^e + m - 1) of all answers is kept and the others are any of the m. Two in a row keep the product,
so the second keeps lambda(first) / lambda(permanent) for a single report of epsilon ``first``. Of
people with shares f(v) the part C(v) reports v, or an answer that v hashes to:

    E C(v) = 1 / k + lambda(first) (f(v) - 1 / k),    or    1 / g + lambda(first) (1 - 1 / g) f(v),

since another value agrees with a report by chance, once in g.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Memoized:
    """Answers to ``values`` values; ``hashes`` is g, or 0 for L-GRR.

    ``permanent`` is epsilon of a permanent answer, ``first`` that of a single report.
    """

    values: int
    permanent: float
    first: float
    hashes: int = 0

    @property
    def answers(self) -> int:
        """The number of answers, k or g."""
        return self.hashes or self.values

    def kept(self, epsilon: float) -> float:
        """lambda(epsilon)."""
        return float(np.expm1(epsilon) / (np.exp(epsilon) + self.answers - 1))

    def lifetime(self, distinct: int) -> float:
        """The epsilon of a person whose record takes so many values in all."""
        return self.permanent * min(distinct, self.answers)

    def whole_history(self, waves: int) -> float:
        """The epsilon of all reports of so many waves, with any changes between them.

        Of two answers: the largest likelihood ratio of two histories of a record. Also when a
        record changes is in the reports, which ``lifetime`` leaves out.
        """
        if self.answers != 2:
            raise NotImplementedError("It is known for two answers only.")
        once, anew = self.kept(self.permanent), self.kept(self.first) / self.kept(self.permanent)
        same, kept = (1.0 + anew) / 2.0, (1.0 + once) / 2.0

        def likelihood(value: int, ones: int, of: int) -> float:
            one = same**ones * (1.0 - same) ** (of - ones)
            zero = (1.0 - same) ** ones * same ** (of - ones)
            own, other = (one, zero) if value else (zero, one)
            return kept * own + (1.0 - kept) * other

        worst = 0.0
        for ones in range(waves + 1):
            of_histories = [
                likelihood(1, own, of) * likelihood(0, ones - own, waves - of)
                for of in range(waves + 1)
                for own in range(max(0, ones - (waves - of)), min(of, ones) + 1)
            ]
            worst = max(worst, float(np.log(max(of_histories) / min(of_histories))))
        return worst

    def shares(self, records: Values, rng: np.random.Generator) -> Floats:
        """Estimated shares of values in each wave, ``(waves, values)``, unbiased and not clipped.

        ``records`` are the people's values, ``(waves, people)``.
        """
        waves, people = records.shape
        everybody, m = np.arange(people), self.answers
        of_each = hashed = np.broadcast_to(np.arange(m), (people, m))
        if self.hashes:
            hashed = rng.integers(m, size=(people, self.values))
        permanent = self._respond(of_each, self.kept(self.permanent), rng)
        found = np.empty((waves, self.values))
        for wave, values in enumerate(records):
            own = permanent[everybody, hashed[everybody, values]]
            sent = self._respond(own, self.kept(self.first) / self.kept(self.permanent), rng)
            if self.hashes:
                agree = (hashed == sent[:, None]).mean(axis=0)
                found[wave] = (agree - 1.0 / m) / (self.kept(self.first) * (1.0 - 1.0 / m))
            else:
                agree = np.bincount(sent, minlength=m) / people
                found[wave] = 1.0 / m + (agree - 1.0 / m) / self.kept(self.first)
        return found

    def _respond(self, answers: Values, kept: float, rng: np.random.Generator) -> Values:
        """Each answer where it is kept, otherwise any at random."""
        any_ = rng.integers(self.answers, size=answers.shape)
        return np.where(rng.random(answers.shape) < kept, answers, any_)


def best_hashes(permanent: float, first: float) -> int:
    """g at which LOLOHA's variance is least (its equation for the optimal g)."""
    a, b = np.exp(permanent), np.exp(first)
    root = a**4 - 14 * a**2 - 12 * (a * b) ** 2 + 12 * a * b + 12 * a**3 * b + 1
    return max(int(np.rint((np.sqrt(root) - a**2 + 6 * a - 6 * b + 1) / (6 * (a - b)))), 2)
