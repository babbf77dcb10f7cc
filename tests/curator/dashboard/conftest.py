"""The curator in this process that the API's tests use too."""

from tests.curator.http.conftest import app, http
from tests.curator.small_models import planned_alone, small_public_models, without_gains

__all__ = ["app", "http", "planned_alone", "small_public_models", "without_gains"]
