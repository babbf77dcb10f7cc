"""The curator in this process that the API's tests use too."""

from tests.curator.http.conftest import app, http
from tests.curator.small_models import small_public_models

__all__ = ["app", "http", "small_public_models"]
