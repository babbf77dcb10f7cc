from tests.curator.small_models import small_public_models

from .onnx_files import trial_in_this_process

__all__ = ["small_public_models", "trial_in_this_process"]
