"""Pictures of scores: what is drawn is what was given, and can be read."""

from __future__ import annotations

import io
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.figure import Figure

from bertscore_tm import BERTScore
from bertscore_tm.errors import InvalidValueError, MissingPackageError
from bertscore_tm.plotting import curve, histogram, score_against_length, score_table

NOTE = "Scores of different layers do not compare: each layer has a scale of its own."


def bars(axes: Any) -> list[tuple[float, float, float]]:
    """Of each filled outline its lowest and highest place, and the area under it."""
    found = []
    for patch in axes.patches:
        x, y = patch.get_xy()[:, 0], patch.get_xy()[:, 1]
        area = abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2)
        found.append((float(x.min()), float(x.max()), area))
    return found


def test_a_histogram_counts_all_samples() -> None:
    scores = [0.1, 0.2, 0.2, 0.9]
    figure, axes = histogram(scores, bins=8)
    assert isinstance(figure, Figure)
    ((low, high, area),) = bars(axes)
    assert (low, high) == (0.1, 0.9)
    assert area == pytest.approx(len(scores) * 0.1)  # each bar is 0.1 wide
    (line,) = axes.get_lines()
    assert line.get_xdata()[0] == pytest.approx(0.35)
    assert axes.get_legend().get_texts()[0].get_text() == "mean 0.3500"


def test_histograms_of_several_share_their_bars() -> None:
    both = {"one": torch.tensor([0.0, 0.5]), "two": torch.tensor([1.0])}
    _, axes = histogram(both, bins=10)
    assert [(low, high) for low, high, _ in bars(axes)] == [(0.0, 1.0), (0.0, 1.0)]
    assert [area for *_, area in bars(axes)] == pytest.approx([0.2, 0.1])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["one: mean 0.2500", "two: mean 1.0000"]


@pytest.mark.parametrize("scores", [[], {}, {"one": []}, [math.nan], torch.tensor([])])
def test_a_histogram_of_nothing(scores: Any) -> None:
    figure, axes = histogram(scores)
    figure.savefig(io.BytesIO())
    assert not axes.get_lines()


def test_points_stand_where_they_belong() -> None:
    _, axes = score_against_length(torch.tensor([0.5, 0.25]), [3, 7])
    (points,) = axes.collections
    assert points.get_offsets().tolist() == [[3, 0.5], [7, 0.25]]
    with pytest.raises(InvalidValueError, match="got 2 scores and 1 lengths; wanted one length a"):
        score_against_length([0.1, 0.2], [3])


def test_a_curve_has_a_point_an_epoch_and_its_interval() -> None:
    figure, axes = curve([0, 1, 3], {"f1": [0.1, 0.2, 0.3]}, {"f1": [(0, 0.2), (0.1, 0.3), (0, 1)]})
    figure.savefig(io.BytesIO())
    (line,) = axes.get_lines()
    assert line.get_xydata().tolist() == [[0, 0.1], [1, 0.2], [3, 0.3]]
    (band,) = axes.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert {(0, 0.2), (1, 0.1), (1, 0.3), (3, 0), (3, 1)} <= corners
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["f1"]
    with pytest.raises(InvalidValueError, match="got 1 values of 'f1' for 2 epochs; wanted one an"):
        curve([0, 1], {"f1": [0.5]})
    with pytest.raises(InvalidValueError, match="got 0 values of 'f1' for 1 epochs"):
        curve([0], {"f1": [0.5]}, {"f1": []})


def drawings() -> list[Callable[..., Any]]:
    return [
        lambda ax=None: histogram([0.1, 0.2], ax),
        lambda ax=None: score_against_length([0.1], [2], ax),
        lambda ax=None: curve([0], {"f1": [0.1]}, ax=ax),
        lambda ax=None: score_table(["a"], ["5"], [[0.1]], ax=ax),
    ]


@pytest.mark.parametrize("draw", drawings(), ids=["histogram", "length", "curve", "table"])
def test_axes_are_those_that_were_given_and_pyplot_knows_nothing(draw: Callable[..., Any]) -> None:
    own = Figure().subplots()
    before = pyplot.get_fignums()
    figure, axes = draw(ax=own)
    assert axes is own
    assert figure is own.figure
    figure, _ = draw()
    figure.savefig(io.BytesIO())
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize("draw", drawings(), ids=["histogram", "length", "curve", "table"])
def test_without_matplotlib(draw: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match="wanted: pip install matplotlib"):
        draw()


def test_a_metric_of_one_value_a_sample_draws_how_they_are_spread(minilm: str) -> None:
    metric = BERTScore(minilm, 6, reduction="none")
    metric.update(["a dog", "rain", "the same"], ["a cat", "rain fell", "the same"])
    values = metric.compute()
    _, axes = metric.plot()
    assert axes.get_lines()[0].get_xdata()[0] == pytest.approx(float(values.mean()))
    own = Figure().subplots()
    three = BERTScore(minilm, 6, reduction="none", score=None)
    three.update(["a dog", "rain"], ["a cat", "rain fell"])
    _, axes = three.plot(ax=own)
    assert axes is own
    names = [text.get_text().split(":")[0] for text in axes.get_legend().get_texts()]
    assert names == ["precision", "recall", "f1"]


@pytest.mark.parametrize("shaded", [False, True])
@pytest.mark.parametrize(
    "rows, columns, note",
    [
        (["epoch 0"], ["5"], NOTE),
        (["epoch 0", "epoch 1"], ["2", "6"], NOTE),
        (["precision", "recall", "f1"], [str(i) for i in range(25)], NOTE),
        (["an/encoder-with-a-very-long-name-indeed-base-uncased", "b"], ["6"], NOTE),
        ([f"epoch {i}" for i in range(40)], ["2", "6"], ""),
        (["a"], ["a column with a very long name"], NOTE),
    ],
)
def test_a_table_can_be_read(rows: list[str], columns: list[str], note: str, shaded: bool) -> None:
    """No text overlaps another one, and none is cut by the edge or leaves its cell."""
    values = [[-0.123 - i - j for j in range(len(columns))] for i in range(len(rows))]
    figure, axes = score_table(rows, columns, values, note=note, shaded=shaded)
    figure.savefig(io.BytesIO())
    texts = [*axes.texts, axes.title, axes.xaxis.label, *axes.get_xticklabels()]
    texts += axes.get_yticklabels() + [text for text in [figure._supxlabel] if text]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert len(boxes) >= len(rows) * (len(columns) + 1) + len(columns) + 2 + bool(note)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    cell = axes.get_window_extent().width / len(columns)
    assert all(text.get_window_extent().width < cell for text in axes.texts)
    (image,) = axes.images
    for text in axes.texts:
        x, y = map(int, text.get_position())
        value = image.get_array()[y : y + 1, x]  # masked, and so white, where there is no colour
        red, green, blue, opaque = image.cmap(image.norm(value))[0]
        shade = (red, green, blue) if opaque else (1.0, 1.0, 1.0)
        assert contrast(shade, 0.0 if text.get_color() == "black" else 1.0) > 4


def test_each_column_of_a_table_has_a_scale_of_its_own() -> None:
    values = [[0.1, 0.9, 0.5], [0.2, 0.8, 0.5], [0.3, math.nan, 0.5]]
    names = ["a", "b", "c"]
    both = [score_table(names, names, values, shaded=shaded) for shaded in (True, False)]
    coloured, plain = (axes.images[0].get_array() for _, axes in both)
    assert coloured[:, 0].tolist() == pytest.approx([0, 0.5, 1])
    assert coloured[:, 1].tolist() == [1, 0, None]
    assert coloured[:, 2].mask.all()  # all the same: nothing to show
    assert plain.mask.all()


def contrast(shade: tuple[float, ...], other: float) -> float:
    """That of the web's guidelines (WCAG 2), against black (0) or white (1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shade]
    light = sum(part * c for part, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return (max(light, other) + 0.05) / (min(light, other) + 0.05)
