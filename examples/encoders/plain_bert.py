"""BERT written out in PyTorch: an encoder without transformers' models, with MiniLM's weights."""

import torch
from safetensors.torch import load_file
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention
from transformers import AutoTokenizer

from bertscore_tm import Encoder, Tokenizer


class PlainBert(Encoder):
    name, version, depth = "plain-bert", "1", 6

    def __init__(self, folder):
        self.weights = load_file(f"{folder}/model.safetensors")
        self.tokenizer = Tokenizer(AutoTokenizer.from_pretrained(folder), position_limit=512)
        self.tokenizer_id, self.limit = self.tokenizer.identity, self.tokenizer.limit

    def tokenize(self, texts):
        return self.tokenizer(texts)

    def hidden_states(self, input_ids, attention_mask, layers):
        def part(name):
            return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

        names = (f"embeddings.{n}_embeddings.weight" for n in ("word", "position", "token_type"))
        word, place, kind = (self.weights[name] for name in names)
        x = word[input_ids] + place[: input_ids.shape[1]] + kind[0]  # [texts, tokens, 384]
        states = [layer_norm(x, (384,), *part("embeddings.LayerNorm"), 1e-12)]
        for i in range(max(layers)):
            x, at = states[-1], f"encoder.layer.{i}"
            qkv = (linear(x, *part(f"{at}.attention.self.{n}")) for n in ("query", "key", "value"))
            heads = (h.unflatten(2, (12, 32)).transpose(1, 2) for h in qkv)
            mixed = scaled_dot_product_attention(*heads, attention_mask[:, None, None].bool())
            x = x + linear(mixed.transpose(1, 2).flatten(2), *part(f"{at}.attention.output.dense"))
            x = layer_norm(x, (384,), *part(f"{at}.attention.output.LayerNorm"), 1e-12)
            wide = gelu(linear(x, *part(f"{at}.intermediate.dense")))
            x = x + linear(wide, *part(f"{at}.output.dense"))
            states.append(layer_norm(x, (384,), *part(f"{at}.output.LayerNorm"), 1e-12))
        return torch.stack([states[layer] for layer in layers])
