"""What the settings mean: encoder, layers, weighting, baseline; and the line that says so."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from ._version import __version__
from .baseline import Baseline, choose_baseline
from .checks import spelled
from .choosing import choose_encoder
from .encoder import Encoder
from .errors import InvalidValueError
from .layers import choose_layers
from .leases import lease_encoder
from .matching import MatchingRule
from .settings import ABOUT, Settings, Shapes
from .signature import make_fingerprint, signature_line
from .tuned import TunedLayer
from .weighting import checked_weights, choose_weighting

_NOT_READ = None, None  # None is no baseline


class Plan:
    """Settings, and the objects that they mean. Copies are the same object: none ever changes.

    Attributes:
        settings: as they were given.
        lease: the encoder with its cache.
        own_encoder: the encoder that the settings mean; equal ones are run by one engine.
        encoder_name: what the signature calls it.
        layers: the hidden states that are compared.
        layer_is_default: whether nobody asked for them, nor has anybody measured them.
        weighting: how much each token counts.
        weights: the weights of tokens; None: they are known at the end of the epoch.
        table: the baseline that rescaling or matching needs, or None.
        baseline: what scores are rescaled with, or None.
        rule: how tokens are matched.
    """

    def __init__(
        self,
        settings: Settings,
        encoder: Encoder | None = None,
        key: Any = None,
        baseline: Any = _NOT_READ,
    ) -> None:
        """Find the encoder and all else that the settings mean.

        Args:
            settings: the settings.
            encoder: the encoder, where it is known already.
            key: of its engine, where that is known already.
            baseline: where it has been read already.

        Raises:
            EncoderLoadError: if the encoder cannot be found or loaded.
            InvalidTypeError: if a setting means nothing.
            InvalidValueError: if it means something that does not exist or fit.
        """
        self.settings = settings
        self.weighting = choose_weighting(settings.idf)
        encoder = choose_encoder(settings) if encoder is None else encoder
        wanted = settings.num_layers
        if isinstance(wanted, TunedLayer):
            wanted.check(encoder.name, encoder.version)
        wanted = tuple(encoder.default_layers) if wanted is None else wanted
        self.layers = choose_layers(wanted, encoder.depth, None, encoder.name)
        needs_epoch = self.weighting.needs_epoch
        self.weights = None if needs_epoch else checked_weights(self.weighting, encoder)
        if baseline is _NOT_READ:
            baseline = _choose_table(settings, encoder.name)
        floor, self.table = None, baseline
        if self.table is not None:
            self.table.check(self.layers)
            if settings.matching == "mutual":
                floor = self.table.values[list(self.layers), :2]  # of P and R
        self.baseline = None if settings.rescale_with_baseline is False else self.table
        self.rule = MatchingRule(settings.match_special_tokens, floor)
        # Of equal encoders the first is used by all; its name may be another (a folder, an alias),
        # and so may its default layers.
        self.encoder_name, self.own_encoder = encoder.name, encoder
        sizes = settings.batch_tokens, settings.cache_bytes
        self.lease = lease_encoder(encoder, self.layers, *sizes, key)
        self.layer_is_default = settings.num_layers is None and encoder.layer_is_guessed

    @property
    def encoder(self) -> Encoder:
        """The encoder in use."""
        return self.lease.engine.encoder

    def __repr__(self) -> str:
        """Equal for equal encoders, which is what torchmetrics' FeatureShare looks at."""
        return f"{type(self).__name__}({self.encoder.name!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Plan:
        """Copies are the same object."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles carry settings and encoder; they lead back to its engine where that lives."""
        encoder = self.own_encoder
        key = self.lease.engine.key if encoder.frozen else None  # a snapshot of what may change
        return type(self), (self.settings, encoder, key, self.table)

    def meaning(self, digest: int = 0) -> dict[str, object]:
        """What each setting means here, by its name: for signature and fingerprint.

        Args:
            digest: `Encoder.weights_digest` of the weights that are meant; 0: as they are now.
        """
        digest = digest or self.encoder.weights_digest()
        version = f"{digest - 1:08x}" if digest else self.encoder.version
        encoder, s = self.encoder, self.settings
        layers = ",".join(map(str, self.layers))
        return {
            **{name: getattr(s, name) for name in ABOUT},
            "model_name_or_path": f"{self.encoder_name}@{version}",
            "num_layers": f"{layers}(default)" if self.layer_is_default else layers,
            "max_length": encoder.limit or ("own" if encoder.overflow == "own" else "any"),
            "overflow": encoder.overflow,
            "dtype": encoder.dtype,
            "match_special_tokens": "matched" if s.match_special_tokens else "unmatched",
            "matching": "greedy" if self.rule.floor is None else f"mutual({self.table.name})",
            "idf": self.weighting.name,
            "beta": _number(s.beta),
            "rescale_with_baseline": "no" if self.baseline is None else self.baseline.name,
            "empty_score": _number(s.empty_score),
        }

    def signature(self, digest: int = 0) -> str:
        """One line that identifies the run; ``digest`` as in `meaning`."""
        meaning = self.meaning(digest)
        parts = {
            about.label or name: meaning[name]
            for name, about in ABOUT.items()
            if about.label is not None and about.shapes != "work"
        }
        return signature_line(
            {
                "encoder": parts.pop("encoder"),
                "tokenizer": self.encoder.tokenizer_id,
                **parts,
                "bertscore_tm": __version__,
                "torch": torch.__version__,
                "transformers": version("transformers"),
            }
        )

    def fingerprint(self, shaped: tuple[Shapes, ...] | None = None, kind: str = "") -> Tensor:
        """Integers that differ where states must not be mixed, int64 ``[4]``.

        Args:
            shaped: what the settings shape that count; None: what the state holds: matches, where
                weights are known only at the end of the epoch, else scores.
            kind: what else tells two states apart.
        """
        held: tuple[Shapes, ...] = ("matches",)
        if not self.weighting.needs_epoch:
            held = ("matches", "scores")
        shaped = shaped or held
        meaning = self.meaning()
        parts = {name: meaning[name] for name, about in ABOUT.items() if about.shapes in shaped}
        parts["model_name_or_path"] = self.encoder.identity
        parts["num_layers"] = self.layers
        return make_fingerprint({**parts, "tokenizer": self.encoder.tokenizer_id, "kind": kind})


def _choose_table(settings: Settings, encoder: str) -> Baseline | None:
    """The baseline that rescaling or matching needs."""
    rescale, path = settings.rescale_with_baseline, settings.baseline_path
    if settings.matching == "greedy" or rescale is not False:
        return choose_baseline(rescale, path, encoder, settings.language)
    try:
        return choose_baseline(True, path, encoder, settings.language)
    except InvalidValueError as error:
        said = spelled("matching", settings.matching)
        raise InvalidValueError(f"got {said}, which needs a baseline: {error}") from None


def _number(value: Any) -> str:
    """A number with all its digits, and none that it does not need."""
    return repr(float(value)).removesuffix(".0")
