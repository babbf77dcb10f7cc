"""The curator in this process that the API's tests use too."""

from tests.curator.http.conftest import app, http

__all__ = ["app", "http"]
