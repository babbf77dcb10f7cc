"""A curator on a socket of this machine, for its client."""

from tests.curator.cli.conftest import curator_url, served, survey
from tests.curator.small_models import small_public_models
from tests.learning.onnx_files import trial_in_this_process

__all__ = ["curator_url", "served", "small_public_models", "survey", "trial_in_this_process"]
