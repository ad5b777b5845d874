"""Student's t distribution, as intervals need it."""


def t_quantile(freedom: float, probability: float) -> float:
    """Where so much of the distribution lies below, with these degrees of freedom."""
    from scipy.special import stdtrit  # takes a quarter of a second to load, which not all commands need pay

    return float(stdtrit(freedom, probability))
