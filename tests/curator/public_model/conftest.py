from tests.curator.onnx_files import trial_in_this_process
from tests.curator.small_models import small_public_models

__all__ = ["small_public_models", "trial_in_this_process"]
