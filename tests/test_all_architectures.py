"""Every architecture of transformers that reads text: its number is that of the text alone.

Each is built small, with random weights, and scored from a folder and as a custom model: a batch of
unequal rows, and a text that is longer than the encoder allows. What comes out equals one text a
pass without padding, or is an error of ours. ``python tests/test_all_architectures.py`` writes the
table of docs/architectures.md.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from bertscore_tm import BERTScoreError, HuggingFaceEncoder, bert_score
from bertscore_tm.halves import encoder_half
from bertscore_tm.names import paper_tables
from bertscore_tm.padding import Mixing
from tiny import BERT, _randomize, _wordpiece, quiet_transformers

PREDS = ["two cats sleep", "rain", "hello world, this is a small test of a small encoder"]
TARGETS = ["two cats sleep quietly on the sofa", "rain fell on the old town all night", "hello"]
LONG = "rain fell on the town and the cat ran home " * 12
TABLE = Path(__file__).parent.parent / "docs" / "architectures.md"
LARGEST = 20_000_000  # weights of what is small enough to be tried

# By their names in configurations; what a class does not know is left out.
SIZES: dict[int, tuple[str, ...]] = {
    2: (
        "num_hidden_layers", "encoder_layers", "num_encoder_layers", "num_layers", "n_layer",
        "n_layers", "num_attention_heads", "num_heads", "n_head", "n_heads", "nhead",
        "encoder_attention_heads", "decoder_attention_heads", "num_key_value_heads",
        "num_encoder_attention_heads", "num_decoder_attention_heads", "num_experts_per_tok",
        "decoder_layers", "num_decoder_layers", "num_kv_heads", "linear_num_key_heads",
        "linear_num_value_heads", "num_hidden_groups",
    ),
    4: ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    8: (
        "chunk_size", "mamba_chunk_size", "attention_window", "sliding_window", "local_attention",
        "qk_rope_head_dim",
    ),
    16: (
        "head_dim", "d_kv", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim",
        "linear_key_head_dim", "linear_value_head_dim", "attention_head_size",
        "intra_bottleneck_size",
    ),
    32: (
        "hidden_size", "d_model", "dim", "n_embd", "emb_dim", "embedding_size",
        "moe_intermediate_size", "word_embed_proj_dim", "attention_hidden_size",
        "true_hidden_size", "projection_dim",
    ),
    64: (
        "intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "d_inner", "hidden_dim",
        "ffn_dim", "max_position_embeddings", "n_positions", "max_encoder_position_embeddings",
        "max_decoder_position_embeddings", "ffn_hidden_size", "shared_expert_intermediate_size",
        "n_inner",
    ),
}  # fmt: skip
NAMES = {name: size for size, names in SIZES.items() for name in names}
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
# What a class cannot do without, or cannot be small with.
MORE: dict[str, dict[str, Any]] = {
    "squeezebert": {f"{n}_groups": 1 for n in ("q", "k", "v", "post_attention", "intermediate",
                                               "output")},
    "reformer": {"axial_pos_shape": [8, 8], "axial_pos_embds_dim": [16, 16],
                 "attn_layers": ["local", "lsh"], "local_attn_chunk_length": 8,
                 "lsh_attn_chunk_length": 8, "is_decoder": False},
    "funnel": {"block_sizes": [1, 1], "d_head": 16},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "esm": {"position_embedding_type": "absolute", "mask_token_id": 4},
}  # fmt: skip


@cache
def tokenizer() -> Any:
    with quiet_transformers():
        made = _wordpiece("BertTokenizer", *BERT)
    made.model_max_length = 10**30
    return made


# What configurations of models say that read more than text.
OTHER_SENSES = {
    "image_size", "num_channels", "num_mel_bins", "feat_extract_norm", "vision_config",
    "audio_config", "backbone_config", "speech_config", "patch_size", "sampling_rate", "conv_dim",
    "image_token_id", "audio_token_id", "codebook_size", "text_config", "prediction_length",
    "visual_embedding_dim", "act_dim", "aggregation_labels", "encoder_hidden_size", "num_codebooks",
}  # fmt: skip
ALSO = ("canine", "clip", "encoder-decoder", "layoutlm", "lilt")


@cache
def text_types() -> list[str]:
    """Types of configurations whose model reads token ids and nothing else."""
    found = []
    for kind in MODEL_MAPPING_NAMES:
        try:
            said = {*CONFIG_MAPPING[kind]().to_dict()}
        except Exception:  # noqa: BLE001 - it needs arguments: it is one of several parts
            continue
        if "vocab_size" in said and not said & OTHER_SENSES:
            found.append(kind)
    return sorted({*found, *ALSO})


def small(kind: str) -> Any:
    """A configuration of a small model."""
    if kind == "encoder-decoder":
        return tf.EncoderDecoderConfig.from_encoder_decoder_configs(small("bert"), small("bert"))
    default = CONFIG_MAPPING[kind]()
    sizes = {**_sizes(default), **MORE.get(kind, {})}
    return CONFIG_MAPPING[kind](**sizes)


def _sizes(config: Any) -> dict[str, Any]:
    sizes: dict[str, Any] = {}
    for name, value in config.to_dict().items():
        part = getattr(config, name, None)
        if hasattr(part, "to_dict"):
            sizes[name] = _sizes(part)
        elif name in NAMES and isinstance(value, (int, float)):
            sizes[name] = NAMES[name]
        elif name in IDS and not isinstance(value, list):
            sizes[name] = IDS[name]
        elif name == "vocab_size":
            sizes[name] = len(tokenizer())
    return sizes


def build(kind: str) -> Any:
    """The model in eval mode, or None where it cannot be made small."""
    config = small(kind)
    factory = tf.EncoderDecoderModel if kind == "encoder-decoder" else None
    with torch.device("meta"):
        model = factory(config) if factory else tf.AutoModel.from_config(config)
    if sum(p.numel() for p in model.parameters()) > LARGEST:
        return None
    model = factory(config) if factory else tf.AutoModel.from_config(config)
    _randomize(model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.5)
    return model.eval()


def alone(model: Any, text: str, limit: int | None, layer: int) -> Tensor:
    """A hidden state of one text in a pass of its own, unit vectors ``[tokens, dim]``."""
    ids = tokenizer()(text)["input_ids"]
    if limit is not None and len(ids) > limit:
        ids = [*ids[: limit - 1], ids[-1]]
    half = encoder_half(model)
    with torch.no_grad():
        given = {"input_ids": torch.tensor([ids]), "output_hidden_states": True}
        state = half(**given).hidden_states[layer][0].double()
    return nn.functional.normalize(state, dim=-1)


def f1(a: Tensor, b: Tensor) -> float:
    similarity = a @ b.T
    p, r = similarity[1:-1].amax(1).mean().item(), similarity[:, 1:-1].amax(0).mean().item()
    return 2 * p * r / (p + r) if p > 0 and r > 0 else 0.0


def tried(kind: str) -> str:
    """What comes of one architecture; raises AssertionError if a number is wrong."""
    try:
        with quiet_transformers():
            model = build(kind)
    except Exception as error:  # noqa: BLE001 - not ours: it cannot be built like this
        return f"not tried: {type(error).__name__} while it was built small"
    if model is None:
        return "not tried: not small"
    preds, targets = [*PREDS, LONG], [*TARGETS, "rain fell"]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with quiet_transformers():
                model.save_pretrained(folder)
                tokenizer().save_pretrained(folder)
        except Exception as error:  # noqa: BLE001
            return f"not tried: {type(error).__name__} while it was saved"
        said = []
        for given in (folder, model):
            try:
                layer = HuggingFaceEncoder(given, tokenizer()).depth
                encoder = HuggingFaceEncoder(given, tokenizer(), layer)
                got = bert_score(preds, targets, encoder)["f1"].tolist()
            except BERTScoreError as error:
                said.append(_refusal(str(error)))
                continue
            wanted = [
                f1(*(alone(model, text, encoder.limit, layer) for text in pair))
                for pair in zip(preds, targets, strict=True)
            ]
            assert got == pytest.approx(wanted, rel=0, abs=1e-5), (kind, type(given).__name__)
            if given == folder:
                half = HuggingFaceEncoder(folder, tokenizer(), layer, dtype="bfloat16")
                got = bert_score(preds, targets, half)["f1"].tolist()
                assert got == pytest.approx(wanted, rel=0, abs=0.02), (kind, "bfloat16")
            said.append(_how(encoder))
    return said[0] if len({*said}) == 1 else " / ".join(said)


def _refusal(message: str) -> str:
    """What a message says of the model, without its name and without what to do."""
    said = re.sub(r"encoder '[^']*' |^got ", "", " ".join(message.split())).partition("; wanted")[0]
    asked = ("required positional", "have to specify", "cannot be `None`", "hidden states of")
    asked += ("'tuple' object",)  # hidden states of several parts
    if "cannot be run on token ids" in said and not any(words in said for words in asked):
        return "not tried: made small it does not run"  # nor does it without us
    return f"refused: {said.replace('|', '/')}"


def _how(encoder: HuggingFaceEncoder) -> str:
    model: Any = encoder._model
    mixing = model._reader.mixing if hasattr(model, "_reader") else model._mixing
    rows = {
        Mixing.NOTHING: "works",
        Mixing.PADDING: "works, in batches of one length",
        Mixing.NEIGHBOURS: "works, row by row",
    }
    return rows[mixing]


HEAD = f"""# Architectures

Models of transformers {tf.__version__} that read text, each built small with random weights and
scored from a folder and as a custom model: in a batch of unequal rows, and with a text that is
longer than it allows. What works equals one text a pass without padding within 1e-5; what does not
is an error that says why, never another number. `python tests/test_all_architectures.py` writes
this, and the slow test of that name holds it.

- works: in batches; padding and neighbours play no part.
- works, in batches of one length: padding gets into real tokens, so that none is given.
- works, row by row: what else is in the batch gets in, so that nothing is.
- refused: it needs more than token ids, or gives no vector for each token at each layer.
- not tried: the sizes of a small model do not fit together, or it needs a package; large ones may
  well work.
"""


def table(results: dict[str, str]) -> str:
    lines = [f"| {kind} | {result} |" for kind, result in sorted(results.items())]
    counts = [
        f"{sum(result.startswith(word) for result in results.values())} {word}"
        for word in ("works", "refused", "not tried")
    ]
    return "\n".join([HEAD, f"In all: {', '.join(counts)}.", "", "| type | result |", "|---|---|",
                      *lines, ""])  # fmt: skip


@pytest.mark.slow
def test_every_architecture_gives_the_number_of_the_text_alone() -> None:
    """And the table says what holds, where it was made with this transformers."""
    results = {kind: tried(kind) for kind in text_types()}
    works = {kind for kind, result in results.items() if result.startswith("works")}
    assert len(works) > 60
    if f"transformers {tf.__version__} that" in (written := TABLE.read_text(encoding="utf-8")):
        rows = dict(line.strip("| ").split(" | ") for line in written.splitlines() if "| " in line)
        changed = {k: (rows.get(k), results[k]) for k in results if rows.get(k) != results[k]}
        assert not changed


# The architectures of the encoders whose layer was measured (layers.json), by their names.
MEASURED = {
    "albert", "bart", "bert", "big_bird", "blenderbot", "blenderbot-small", "convbert", "deberta",
    "deberta-v2", "distilbert", "electra", "led", "longformer", "mbart", "mpnet", "mt5", "pegasus",
    "prophetnet", "roberta", "squeezebert", "t5", "xlm", "xlm-roberta", "xlnet",
}  # fmt: skip


def test_the_table_has_all_architectures_whose_layers_were_measured() -> None:
    written = TABLE.read_text(encoding="utf-8")
    for kind in MEASURED:
        assert f"| {kind} | works" in written, kind
    assert len(paper_tables()["model2layers"]) > 100


if __name__ == "__main__":
    torch.set_num_threads(1)
    TABLE.write_text(table({kind: tried(kind) for kind in text_types()}), encoding="utf-8")
    sys.stdout.write(f"wrote {TABLE}\n")
