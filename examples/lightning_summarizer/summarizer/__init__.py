"""A sequence-to-sequence model that is validated with BERTScore: data, models, the LightningModule and callbacks."""
