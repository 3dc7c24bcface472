"""The encoder that the settings mean."""

from __future__ import annotations

from torch import nn

from .checks import spelled
from .encoder import Encoder, as_encoder, is_encoder
from .errors import InvalidTypeError, InvalidValueError
from .languages import default_encoder
from .settings import DEFAULTS, Settings

# Settings that an encoder object has itself.
_OF_THE_ENCODER = ("max_length", "overflow", "dtype", "compile", "revision", "safetensors_only")


def choose_encoder(settings: Settings) -> Encoder:
    """The encoder that the settings mean; an encoder object has options of its own.

    Raises:
        EncoderLoadError: if it cannot be found or loaded.
        InvalidTypeError: if it is none.
        InvalidValueError: if nothing says which, or its options are given beside it.
    """
    model = settings.model_name_or_path
    if is_encoder(model):
        for name in _OF_THE_ENCODER:
            if getattr(settings, name) != DEFAULTS[name]:
                raise InvalidValueError(
                    f"got {name} beside an encoder object; wanted it there: "
                    f"HuggingFaceEncoder(..., {name}=...)"
                )
        return as_encoder(model)
    if isinstance(model, nn.Module):
        raise InvalidTypeError(
            f"got {type(model).__name__} as encoder; wanted HuggingFaceEncoder(model, tokenizer): "
            "it needs its tokenizer"
        )
    if model is None:
        if settings.language is None:
            raise InvalidValueError(
                f"got neither an encoder nor a language; wanted {spelled('model_name_or_path')} (a "
                f"hub name, a folder, 'minilm') or {spelled('lang')} ('en' chooses "
                f"{default_encoder('en')})"
            )
        model = default_encoder(settings.language)
    from .huggingface import HuggingFaceEncoder  # transformers is heavy

    return HuggingFaceEncoder(
        model,
        None,
        settings.num_layers,
        max_length=settings.max_length,
        overflow=settings.overflow,
        dtype=settings.dtype,
        compile=settings.compile,
        revision=settings.revision,
        safetensors_only=settings.safetensors_only,
    )
