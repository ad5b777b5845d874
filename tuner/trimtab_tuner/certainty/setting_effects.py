"""What each setting of a recommended configuration is worth, and what was tried and found worth nothing.

Both come from the elimination (`elimination.py`), which measures the configuration with a setting and without
it in interleaved blocks. What has no check of its own is told by the confirmation (`with_the_last`).
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import ConfigDict, computed_field
from trimtab_trials.configuration import Value

from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.wording import in_change

Measure = Literal["capacity", "score"]


class SettingEffect(Frozen):
    """One setting that the search's best has and the default has not.

    `gain` is how much more the configuration does with it than without it, by `measure`; None where it was
    not measured by itself. `kept` says whether it is recommended. A `shown` effect is told from nothing.
    Settings that were left out in one check share its gain, and one that is kept and was not measured by
    itself has that of all that is recommended: `together` names the others.
    """

    knob: str
    value: Value
    default: Value
    kept: bool
    gain: Gain | None = None
    measure: Measure = "capacity"
    together: tuple[str, ...] = ()

    # What is recorded holds the words too.
    model_config = ConfigDict(extra="ignore")

    @property
    def shown(self) -> bool:
        """Whether its effect, a gain, is told from nothing."""
        return self.gain is not None and self.gain.significant and self.gain.gain > 0

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated properties
    @property
    def setting(self) -> str:
        """For instance `worker_connections 13000`."""
        return f"{self.knob} {self.value}"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def told(self) -> str:
        """Its effect, for instance `+91 % (+83 % to +99 %)`, or `no effect, left at 1`."""
        if not self.kept:
            return f"no effect{self._shown_by}, left at {self.default}"
        if self.together or self.gain is None:
            return f"not measured by itself{self._of_all}"
        if self.gain.low is None:
            return f"{_percent(self.gain)}, seen once"
        if self.gain.says_nothing:
            return "not told from nothing"
        if not self.shown:
            return f"not told from nothing, {_percent(self.gain)}"
        return f"{_percent(self.gain)}{self._in_score}"

    @property
    def in_words(self) -> str:
        """For instance `worker_connections 13000: +91 % (+83 % to +99 %)`."""
        return f"{self.setting}: {self.told}"

    @property
    def _shown_by(self) -> str:
        if self.gain is None or self.gain.says_nothing:
            return ""
        return f" ({_percent(self.gain, brackets=False)}{self._with_others})"

    @property
    def _of_all(self) -> str:
        """What it gives with all others, where it is shown."""
        if self.gain is None or not self.shown:
            return ""
        return f", {_percent(self.gain)}{self._in_score}{self._with_others}"

    @property
    def _in_score(self) -> str:
        return " in score" * (self.measure == "score")

    @property
    def _with_others(self) -> str:
        return f" together with {', '.join(self.together)}" * bool(self.together)


def with_the_last(
    effects: Sequence[SettingEffect], gain: Gain | None, measure: Measure
) -> tuple[SettingEffect, ...]:
    """The effects with what the confirmation says: the `gain` of all that is kept over the default.

    Where one setting is kept, the two differ in that alone: it is its effect. Of several it is that of all
    together, and told so of those that were not measured by themselves. None leaves all as they are.
    """
    kept = [effect.knob for effect in effects if effect.kept]

    def told(effect: SettingEffect) -> SettingEffect:
        if gain is None or not effect.kept or (len(kept) > 1 and effect.gain is not None):
            return effect
        others = tuple(knob for knob in kept if knob != effect.knob)
        return effect.model_copy(update={"gain": gain, "measure": measure, "together": others})

    return tuple(told(effect) for effect in effects)


def effect_sentences(effects: Sequence[SettingEffect]) -> Iterator[str]:
    """What is kept with its effect, then what was found worth nothing; nothing where nothing was measured."""
    kept = [effect.in_words for effect in effects if effect.kept]
    dropped = [effect.in_words for effect in effects if not effect.kept]
    if kept:
        yield f"What each setting gives: {'; '.join(kept)}."
    if dropped:
        yield f"Tried, and found worth nothing: {'; '.join(dropped)}."


def _percent(gain: Gain, *, brackets: bool = True) -> str:
    """For instance `+91 % (+83 % to +99 %)`; `at least +47 % (from +12 %)` of one that may be any more."""
    text = in_change(gain.gain)
    if gain.low is None:
        return text
    interval = f"from {in_change(gain.low)}"
    if gain.high is None:
        text = f"at least {text}"
    else:
        interval = f"{in_change(gain.low)} to {in_change(gain.high)}"
    return f"{text} ({interval})" if brackets else f"{text}, {interval}"
