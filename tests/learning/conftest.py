from tests.curator.small_models import planned_alone, small_public_models, without_gains

from .onnx_files import trial_in_this_process

__all__ = ["planned_alone", "small_public_models", "trial_in_this_process", "without_gains"]
