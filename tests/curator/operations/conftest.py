from tests.curator.small_models import small_public_models

__all__ = ["small_public_models"]
