"""A configuration measured on one server, in the language of another that has not been measured."""

from dataclasses import replace

from trimtab_tuner.exports.order import Check, ExportFile, ExportOrder
from trimtab_tuner.exports.translation import space_as_of, translate
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.placement import replicas_of


def _replicas(order: ExportOrder) -> tuple[str, ...]:
    replicas = replicas_of(order.configuration)
    if replicas == 1:
        return ()
    return (f"This is one of {replicas} replicas; the others want addresses and directories of their own.",)


def translated_file(order: ExportOrder, target: Target) -> ExportFile:
    """A complete file for `target`: what has an equivalent is translated, what has none is named."""
    source = order.target
    translation = translate(source, order.written, target, order.cpus)
    space = space_as_of(source, order.written, target, order.cpus)
    knobs = {knob.name: knob for knob in space.knobs}
    context = order.place
    if not target.tls_knobs:
        context = replace(context, tls_directory=None)
    if not target.proxy_knobs:
        context = replace(context, upstream=None)
    if not target.serves_php:
        context = replace(context, php_socket=None)
    source_knobs = {knob.name: knob for knob in order.space.knobs}

    def about(name: str) -> str:
        knob, value = knobs[name], translation.configuration[name]
        unit = f" {knob.unit}" if knob.unit and isinstance(value, int) else ""
        sentences = [f"{name} = {value}{unit}, {say.SCOPES[knob.scope]}. {knob.help}"]
        if name in translation.origins:
            origin = translation.origins[name]
            sentences.append(f"Translated from {origin} = {order.written[origin]} of {source.name}.")
            effect = say.effect(source_knobs[origin], order.configuration, order.evidence)
            of_source = f"Measured effect in {source.name}"
            default = f"the default of {source.name}"
            sentences.append(
                effect.replace("Measured effect", of_source).replace("the default.", f"{default}.")
            )
            sentences += order.limit_sentences(origin)
            if order.scaled is not None and origin == order.scaled.knob:
                sentences.append(order.scaled.sentence())
            if name in translation.notes:
                sentences.append(translation.notes[name])
        else:
            sentences.append(f"{source.name} has no such setting: this is the default of {target.name}.")
        if name in target.verify_live:
            sentences.append(f"Verify live: {target.verify_live[name]}")
        return say.comment(*sentences)

    without = [
        f"No equivalent in {target.name}: {name} = {order.configuration[name]}. {source_knobs[name].help}"
        for name in translation.without_equivalent
    ]
    head = say.header(target, target.file_name, order.evidence) + say.comment(
        f"Measured with {source.name} and translated; {target.name} itself has not been measured.",
        *_replicas(order),
        *say.requirements(target.demands(translation.configuration)),
        *say.places(target),
        *without,
    )
    text = head + "\n" + target.render(translation.configuration, context, about)
    return ExportFile(target.program, target.file_name, text, Check(target.program, target.check_command))
