"""A sequence-to-sequence model that is validated with BERTScore, and what surrounds it."""
