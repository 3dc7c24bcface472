"""Hydra configurations of the metric: add ``pkg://bertscore_tm.configs`` to the search path, then choose ``metric=minilm``."""
