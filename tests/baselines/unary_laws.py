"""How unary encoding uses its random words, for tests.protocol.mechanisms.laws."""

from privet.baselines.unary import UnaryEncoding
from tests.protocol.mechanisms.laws import Piece, cut, pieces


@pieces.register
def _(mechanism: UnaryEncoding) -> list[list[Piece]]:
    return [cut([mechanism.own_words, mechanism.other_words])] * mechanism.categories
