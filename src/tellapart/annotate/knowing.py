"""What a simulated person takes for right: the truth where it is known, else the world's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tellapart.annotate.questions.question import Answer, Form, Matter
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.world.world import scene_of
from tellapart.models.baselines import Oracle

SURE = 0.5
ASSUMED = ("verify", "ambiguity")
"""Questions of later stages: their truth is what an earlier stage assumed, and may be wrong."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knows what a careful person would answer, or that nobody can tell (None)."""

    benchmark: Benchmark

    def right(self, matter: Matter, form: Form) -> Answer | None:
        """The right answer to a task."""
        if matter.check:
            return Answer(matter.check)
        if matter.question in ASSUMED and self._is_world:
            return self._described(matter, form)
        if matter.truth is not None:
            choice = sorted(matter.truth.choices)[0]
            asked = form.word is not None and form.word.when == choice
            words = sorted(matter.truth.words)
            return Answer(choice, (words[0] if words else 0) if asked else None)
        return self._picked(matter, form) if self._is_world else None

    def _described(self, matter: Matter, form: Form) -> Answer | None:
        """The picture that the caption describes, or that it is both or neither."""
        caption = matter.captions[0]
        keys = [option.key for option in form.options]
        fitting = [key for key in keys if self._fits(matter.images[int(key)], caption)]
        if len(fitting) == 1:
            return Answer(fitting[0])
        wanted = "both" if fitting else "neither"
        return Answer(wanted) if wanted in {o.key for o in form.fixed} else None

    def _picked(self, matter: Matter, form: Form) -> Answer | None:
        """The first caption that is true of the target alone, or the first picture that fits."""
        if not form.options:
            return None
        of_captions = form.options[0].image is None
        for option in form.options:
            place = int(option.key)
            if of_captions:
                caption = matter.captions[place]
                target, decoy = matter.images[:2]
                fits = self._fits(target, caption) and not self._fits(decoy, caption)
            else:
                fits = self._fits(matter.images[place], matter.captions[0])
            if fits:
                return Answer(option.key)
        return Answer(form.fixed[0].key) if form.fixed else None

    def _fits(self, image: str, caption: str) -> bool:
        picture = self.benchmark.picture(image)
        return bool(self._oracle.score_pairs([picture], [caption])[0] > SURE)

    @cached_property
    def _oracle(self) -> Oracle:
        return Oracle()

    @cached_property
    def _is_world(self) -> bool:
        first = next(iter(self.benchmark.images))
        return scene_of(self.benchmark.picture(first)) is not None
