"""Minimum entropy of configured tokens."""

import math
import string

TOKEN_BITS = 128
ALPHABETS = (string.digits, string.ascii_lowercase, string.ascii_uppercase, string.punctuation)


def fault_of_token(token: str) -> str | None:
    """The reason why a token is refused; None if it is not.

    Its bits are at most what random characters of its kinds have.
    """
    if not token.strip():
        return "it is empty: give one, or leave it out"
    if any(character.isspace() for character in token) or not token.isascii():
        return "it has a space or another character that no token has: copy it again"
    lower = token.lower()
    if set(lower) <= set(string.hexdigits):
        kinds = 16
    else:
        kinds = sum(len(kind) for kind in ALPHABETS if set(kind) & set(token))
    bits = min(len(token), 4 * len(set(token))) * math.log2(max(kinds, 1))
    if bits < TOKEN_BITS:
        return (
            f"it has {bits:.0f} bits at most and needs {TOKEN_BITS}: take what "
            "'openssl rand -hex 32' prints"
        )
    return None
